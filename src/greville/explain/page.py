"""One page of HTML about a model, without other files; for light and for dark screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from ..tables import Batch, TableModel
from .facts import Facts, facts_of
from .figures import figures_of


def explain_page(
    model: TableModel, batches: Iterable[Batch], *, learned: bool = False, source: str = ""
) -> str:
    """Make an HTML page about a model: scores, important columns, and largest errors.

    Parameters
    ----------
    model : TableModel
    batches : iterable of Batch
        Rows with targets, of which a sample of 2000 is used.
    learned : bool, default=False
        Whether the model has learned these rows: each is then predicted as if it had not been.
    source : str
        Where the model is, for the title.

    Returns
    -------
    html : str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from greville.explain import explain_page
    >>> from greville.tables import Batch, TableModel
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> table = pa.record_batch({"x": x, "y": 3 * x + 1})
    >>> batch = Batch(table, "rows", np.arange(300), 1.0)
    >>> page = explain_page(TableModel("y").learn(batch), [batch], learned=True)
    >>> page.startswith("<!doctype html>"), "http://" in page.replace("http://www.w3.org", "")
    (True, False)
    """
    facts = facts_of(model, batches, learned=learned)
    style = (files(__package__) / "page.css").read_text(encoding="utf-8")
    title = f"What predicts {facts.model.target!r}"
    pictures = figures_of(facts)
    sections = [
        ("good", "How good it is", _quality(facts) + _pictures(pictures["quality"])),
        ("importance", "Which columns matter", _importance(facts, pictures["importance"])),
        ("effects", "How predictions depend on them", _effects(pictures["effects"])),
        ("errors", "The largest errors", _errors(facts)),
        ("data", "The columns", _columns(facts)),
    ]
    links = "".join(f'<li><a href="#{name}">{escape(what)}</a></li>' for name, what, _ in sections)
    body = "\n".join(
        f'<section id="{name}"><h2>{escape(what)}</h2>\n{content}</section>'
        for name, what, content in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        f'<link rel="icon" href="data:,"><style>{style}</style></head>\n<body><header>'
        f"<h1>{escape(title)}</h1>{_lead(facts, source)}<nav><ul>{links}</ul></nav></header>\n"
        f"<main>{body}</main></body></html>\n"
    )


def _lead(facts: Facts, source: str) -> str:
    model = facts.model
    units = int(model.estimator.solver_.n_features_in_)
    what = f"{len(model.classes):,} classes" if model.classes else "a number"
    where = f" of {escape(source)}" if source else ""
    return (
        f'<p class="lead">A model{where}: {what}, from {len(model.schema.used):,} columns and '
        f"{model.n_rows:,} rows, with {units:,} hidden units.</p>"
    )


def _quality(facts: Facts) -> str:
    kinds = list(dict.fromkeys(kind for _, measures in facts.measures for kind in measures))
    rows = [
        [name, *(_number(measures[kind]) if kind in measures else "" for kind in kinds)]
        for name, measures in facts.measures
    ]
    n = f"{len(facts.target):,} rows"
    how = f"{n}, each predicted as if it had not been learned."
    if not facts.left_out:
        how = f"{n}, taken as new: if they were learned, the model looks better than it is."
    return f"<p>{how}</p>" + _table(["", *kinds], rows)


def _importance(facts: Facts, pictures: Sequence[tuple[str, str]]) -> str:
    importance = facts.importance.as_dict()
    kinds = {"change": "change of the prediction", "error": "growth of the error without it"}
    kinds["evidence"] = "loss of evidence without it"
    shown = [kind for kind in kinds if kind in next(iter(importance.values()))]
    rows = [[name, *(_number(each[kind]) for kind in shown)] for name, each in importance.items()]
    return (
        "<p>How far predictions move when a column does, in units of the target. What no other "
        "column can replace is the growth of the expected error without it.</p>"
        + _pictures(pictures)
        + _table(["column", *(kinds[kind] for kind in shown)], rows)
    )


def _effects(pictures: Sequence[tuple[str, str]]) -> str:
    return (
        "<p>The mean prediction over the rows, with a column set to each value. The band is two "
        "standard deviations of that mean: how sure the model is of it, not how far targets are "
        "from it.</p>" + _pictures(pictures)
    )


def _errors(facts: Facts) -> str:
    if not facts.worst:
        return "<p>There are none.</p>"
    names = list(facts.worst[0][1])
    rows = [
        [_value(facts.target[i]), _value(facts.predicted[i]), *values.values()]
        for i, values in facts.worst
    ]
    return _table(["true", "predicted", *names], rows)


def _columns(facts: Facts) -> str:
    schema = facts.model.schema
    rows = [[column.name, column.description()] for column in schema.columns]
    items = "".join(f"<li>{escape(finding.message)}</li>" for finding in schema.findings)
    return _table(["column", "what it is"], rows) + (f"<ul>{items}</ul>" if items else "")


def _pictures(pictures: Sequence[tuple[str, str]]) -> str:
    each = "".join(
        f"<figure>{svg}{f'<figcaption>{escape(title)}</figcaption>' if title else ''}</figure>"
        for title, svg in pictures
    )
    return f'<div class="pictures">{each}</div>'


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))[:300]}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table>{inside}</table></div>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _value(value: Any) -> str:
    scalar = value.item() if hasattr(value, "item") else value
    return _number(scalar) if isinstance(scalar, float) else str(scalar)
