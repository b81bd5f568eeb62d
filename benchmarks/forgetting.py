"""Rules of forgetting: that of the paper, one with a floor, and one along the row only.

``python -m benchmarks forgetting`` prints the first tables of docs/forgetting.md and draws its
figure.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from greville import DynamicOpium, RandomLayer
from greville.datasets import ecg, sine_switch
from greville.paper.printed import printed_opium

from .measure import Array

ALPHA, EPSILON, SAMPLES, CHANGE = 1.003, 1e-3, 100_000, 50_000
AUTO_FLOOR = 1e-9  # of floor="auto", squared, relative to the mean square activation
FIGURE = Path(__file__).parent.parent / "docs" / "forgetting.png"


def directional(H: Array, y: Array, epsilon: float, alpha: float) -> Array:
    """Errors of least squares that forgets only along the current row, in float64.

    The information I loses (1 - λ)·Iaa'I/(a'Ia) and gains aa' (Kulhavý 1984; Cao & Schwartz 2000;
    SIFt-RLS, Lai & Bernstein 2024, does the same for several rows at once).
    """
    keep, M = 2 - alpha, H.shape[1]
    information, covariance = epsilon**2 * np.eye(M), np.eye(M) / epsilon**2
    W, errors = np.zeros(M), np.empty(len(y))
    for k, a in enumerate(H):
        errors[k] = y[k] - a @ W
        along = information @ a
        strength = a @ along
        if strength > 0:
            information -= (1 - keep) / strength * np.outer(along, along)
            covariance += (1 - keep) / (keep * strength) * np.outer(a, a)
        information += np.outer(a, a)
        gain = covariance @ a
        gain /= 1 + a @ gain
        covariance -= np.outer(gain, covariance @ a)
        W += gain * errors[k]
    return errors


def errors_with_floor(
    floor: float | Literal["auto"] | None,
) -> Callable[[Array, Array], Array]:
    def errors(H: Array, y: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return y - DynamicOpium(ALPHA, EPSILON, floor).prequential(H, y)

    return errors


RULES: dict[str, Callable[[Array, Array], Array]] = {
    "as printed": lambda H, y: printed_opium(H, y, EPSILON, ALPHA)[1],
    "floor=None: the same on a root": errors_with_floor(None),
    'floor="auto"': errors_with_floor("auto"),
    "floor=0.1": errors_with_floor(0.1),
    "forgetting along the row only": lambda H, y: directional(H, y, EPSILON, ALPHA),
}


def run() -> None:
    X, y = sine_switch(SAMPLES, change=CHANGE)
    H = RandomLayer(100, random_state=0).fit_transform(X)
    errors = {name: rule(H, y) for name, rule in RULES.items()}
    X_ecg, y_ecg = ecg()
    H_ecg = RandomLayer(100, random_state=0).fit_transform(X_ecg)
    print(f"sine of {SAMPLES:,} samples that changes at {CHANGE:,}, and the ECG; alpha = {ALPHA}")
    print(f"{'':34}{'before':>10}{'largest':>10}{'after':>10}{'ECG, uV':>10}")
    for name, e in errors.items():
        on_ecg = RULES[name](H_ecg, y_ecg)
        print(
            f"{name:34}{_rms(e[CHANGE - 1000 : CHANGE]):10.0e}{np.abs(e[1000:]).max():10.1g}"
            f"{_rms(e[-1000:]):10.0e}{1000 * _rms(on_ecg[360:]):10.1f}"
        )
    parts = np.logspace(-13, -1, 13)
    curve = [_with_part(part, H, y) for part in parts]
    print('the number in floor="auto": largest error, and RMS at the end')
    for part, (largest, rms) in zip(parts, curve, strict=True):
        print(f"  {part:.0e}{largest:10.1g}{rms:10.0e}")
    _draw(errors, parts, np.array(curve))
    ratios()


def ratios(repeats: int = 5) -> None:
    """What a row costs with alpha="auto", relative to one alpha; by turns, the median of each."""
    print('a row that is predicted and learned with alpha="auto" / with alpha = 1.003')
    print(f"{'':30}{'single rows':>14}{'prequential':>14}")
    rng = np.random.default_rng(0)
    for n_hidden, n in ((100, 5000), (300, 2000), (1000, 1500)):
        X = rng.normal(size=(2 * n_hidden + n, 5))
        H = RandomLayer(n_hidden, bias=True, random_state=0).fit_transform(X)
        y = X[:, 0] + 0.1 * rng.normal(size=len(X))
        kinds: list[dict[str, Any]] = [{}, {"epsilon": "auto", "intercept": True}]
        for settings in kinds:
            cells = []
            for act in (_singly, _at_once):
                times: dict[Any, list[float]] = {1.003: [], "auto": []}
                for _ in range(repeats + 1):
                    for alpha, found in times.items():
                        model = DynamicOpium(alpha, **settings)
                        model.partial_fit(H[: 2 * n_hidden], y[: 2 * n_hidden])
                        found.append(act(model, H[2 * n_hidden :], y[2 * n_hidden :]))
                fixed, auto = (np.median(found[1:]) for found in times.values())
                cells.append(f"{auto / fixed:14.1f}")
            kind = "epsilon chosen, intercept" if settings else "epsilon given"
            print(f"{n_hidden:5} {kind:24}" + "".join(cells), flush=True)


def _singly(model: DynamicOpium, H: Array, y: Array) -> float:
    start = perf_counter()
    for h, target in zip(H, y, strict=True):
        model.predict_one(h)
        model.learn_one(h, target)
    return perf_counter() - start


def _at_once(model: DynamicOpium, H: Array, y: Array) -> float:
    start = perf_counter()
    model.prequential(H, y)
    return perf_counter() - start


def _with_part(part: float, H: Array, y: Array) -> tuple[float, float]:
    e = errors_with_floor(float(np.sqrt(part * np.mean(H**2))))(H, y)
    return float(np.abs(e[1000:]).max()), _rms(e[-1000:])


def _rms(errors: Array) -> float:
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean(errors**2)))


def _draw(errors: dict[str, Array], parts: Array, curve: Array) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from greville.paper.figures import COLOURS, SETTINGS

    colours = [*(COLOURS[name] for name in ("bad", "opium", "dynamic", "light")), "0.4"]
    lines = ("-", "--", "-", "-.", ":")
    line_styles = dict(zip(errors, zip(colours, lines, strict=True), strict=True))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(10, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[1.6, 1])
        for name, e in errors.items():
            sizes = np.abs(e).reshape(-1, 500).max(axis=1)
            colour, line = line_styles[name]
            left.semilogy(np.arange(len(sizes)) * 500 + 500, sizes, line, color=colour, label=name)
        left.set(xlabel="sample", ylabel="largest error of 500 samples", ylim=(1e-13, 1e9))
        left.axvline(CHANGE, color="0.3", lw=0.8, ls=":")
        left.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        left.legend(fontsize=8, loc="upper left", ncols=2)
        right.loglog(parts, curve[:, 0], "-", color=COLOURS["bad"], label="largest error")
        right.loglog(parts, curve[:, 1], "--", color=COLOURS["opium"], label="RMS at the end")
        right.axvline(AUTO_FLOOR, color="0.3", lw=0.8, ls=":")
        right.set(xlabel="floor² / mean square activation", ylabel="error")
        right.legend(fontsize=8)
        figure.savefig(FIGURE, dpi=130)
