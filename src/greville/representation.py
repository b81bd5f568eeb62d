"""What was learned, in the HTML that notebooks show.

scikit-learn shows an estimator as a box with its parameters. `Described` adds a table of what was
learned to that box, also where the estimator is a part of a pipeline. To make it must neither
change a model nor take time: scikit-learn itself (from 1.9 on) would read every attribute of a
fitted estimator, and to read `theta_` of a solver inverts a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

# Names that are shown of a list, and characters of each.
_MOST_NAMES, _LONGEST_NAME = 8, 30


class Described:
    """An estimator that says in notebooks what it has learned; before `BaseEstimator` in the bases.

    A subclass provides `summary`.
    """

    def summary(self) -> dict[str, str]:
        """A table of what was learned, in words, as notebooks show it; empty before `fit`.

        It takes next to no time and changes nothing. What is not at hand is left out.
        """
        raise NotImplementedError

    # What scikit-learn calls

    def _html_repr(self) -> str:
        try:
            shown: str = super()._html_repr()  # type: ignore[misc]
        except Exception:  # a notebook must show something
            return f"<pre>{escape(object.__repr__(self))}</pre>"
        return shown

    @property
    def _sk_visual_block_(self) -> Any:
        """Draw one open box for a fitted model; scikit-learn's own form for others."""
        if not _table(self):
            raise AttributeError("scikit-learn shows an estimator that is not fitted")
        return lambda: SimpleNamespace(
            kind="single",
            estimators=self,
            names=type(self).__name__,
            name_details=str(self),
            name_caption=None,
            doc_link_label=None,
            dash_wrapped=True,
        )

    def _get_fitted_attr_html(self, doc_link: str = "") -> str:
        return ""

    def _get_params_html(self, *args: Any, **options: Any) -> Any:
        html: Any = super()._get_params_html(*args, **options)  # type: ignore[misc]
        parameters = html._repr_html_inner
        html._repr_html_inner = lambda: parameters() + _table(self)
        return html


def _table(model: Described) -> str:
    """Return the summary of a model as HTML; empty text where there is none."""
    try:
        summary = model.summary()
    except Exception:  # a notebook must show the rest
        return ""
    rows = "".join(
        f'<tr class="default"><td class="param" style="white-space: nowrap">{escape(name)}</td>'
        f'<td class="value" style="text-align: left">{escape(value)}</td></tr>'
        for name, value in summary.items()
    )
    head = '<div class="estimator-table"><details open><summary>What was learned</summary>'
    table = f'<table class="parameters-table"><tbody>{rows}</tbody></table></details></div>'
    return head + table if rows else ""


def named_list(names: Iterable[Any], n: int) -> str:
    """Say how many names there are, and list the first.

    Examples
    --------
    >>> from greville.representation import named_list
    >>> named_list(["red", "blue"], 2), named_list(range(1000), 1000)
    ('2: red, blue', '1,000: 0, 1, 2, 3, 4, 5, 6, 7, ...')
    >>> named_list(["size, m", "price"], 2)
    "2: 'size, m', price"
    """
    shown = [shown_name(name) for _, name in zip(range(_MOST_NAMES), names, strict=False)]
    more = ["..."] if n > len(shown) > 0 else []
    return f"{n:,}: {', '.join([*shown, *more])}" if shown else f"{n:,}"


def shown_name(name: Any) -> str:
    """A name in a list with commas: cut if it is long, in quotes if it has a comma itself.

    Examples
    --------
    >>> from greville.representation import shown_name
    >>> shown_name("size"), shown_name("size, m")
    ('size', "'size, m'")
    """
    text = " ".join(str(name).split())
    text = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."
    return repr(text) if not text or set(text) & set(",;:()'\"") else text


def size_in_words(n_bytes: int) -> str:
    """Bytes as people read them.

    Examples
    --------
    >>> from greville.representation import size_in_words
    >>> [size_in_words(n) for n in (700, 81_920, 33_000_000)]
    ['1 kB', '82 kB', '33 MB']
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= 0.9995 * size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{max(1, round(n_bytes / 1e3))} kB"


def memory_of(*values: Any) -> int:
    """Return the bytes of the arrays in some values, each array counted once."""
    seen: dict[int, int] = {}
    for value in values:
        _measure(value, seen)
    return sum(seen.values())


def _measure(value: Any, seen: dict[int, int]) -> None:
    if isinstance(value, np.ndarray):
        base = value if value.base is None or not isinstance(value.base, np.ndarray) else value.base
        seen[id(base)] = base.nbytes
    elif isinstance(value, dict):
        for each in list(value.values()):  # other threads may add what they have computed
            _measure(each, seen)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _measure(each, seen)
    elif sparse.issparse(value):
        _measure([value.data, value.indices, value.indptr], seen)
    elif type(value).__module__.startswith("torch") and hasattr(value, "element_size"):
        seen[id(value)] = value.element_size() * value.nelement()
    elif type(value).__module__.startswith("greville.") and id(value) not in seen:
        seen[id(value)] = 0
        _measure(getattr(value, "__dict__", {}), seen)
        for kind in type(value).__mro__:
            for name in getattr(kind, "__slots__", ()):
                _measure(getattr(value, name, None), seen)
