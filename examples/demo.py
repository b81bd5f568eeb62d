"""A stream whose rule changes half-way, and three ways to follow it.

Run it with `make demo`. It prints a table and draws demo.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from greville import DynamicOpium, ELMRegressor, Opium, OpiumLight, RandomLayer
from greville.datasets import sine_switch

matplotlib.use("Agg")
from matplotlib import pyplot as plt

N, CHANGE = 10_000, 5_000
SOLVERS = {
    "OPIUM": Opium(epsilon=10),
    "OPIUM light": OpiumLight(gain=1),
    "dynamic OPIUM": DynamicOpium(alpha=1.003, epsilon=10),
}
NOTES = {
    "OPIUM": "never forgets",
    "OPIUM light": "follows the last rows",
    "dynamic OPIUM": "forgets old rows",
}
COLOURS = {"OPIUM": "#0072B2", "OPIUM light": "#E69F00", "dynamic OPIUM": "#009E73"}


def main() -> None:
    X, y = sine_switch(N)
    print("A sine wave of 10 Hz, from sample 5,000 on of 20 Hz. Each sample is predicted from the")
    print("ten before it and learned right after: no look ahead, one pass, constant memory.")
    print("Settings of the paper's Figure 1; its epsilon = 10 holds OPIUM back on purpose.\n")
    print(f"{'':16}{'error before':>14}{'right after':>14}{'at the end':>14}")
    errors = {}
    for name, solver in SOLVERS.items():
        model = ELMRegressor(RandomLayer(100), solver, random_state=0)
        errors[name] = y - model.prequential(X, y)
        parts = (errors[name][CHANGE - 1000 : CHANGE], errors[name][CHANGE : CHANGE + 200])
        numbers = [rms(part) for part in (*parts, errors[name][-1000:])]
        print(f"{name:16}" + "".join(f"{number:14.1e}" for number in numbers) + f"   {NOTES[name]}")
    print("\n(root mean square errors of 1000, 200 and 1000 samples)")
    path = Path("demo.png")
    draw(y, errors, path)
    print(f"The picture is in {path.resolve()}")


def rms(errors: Any) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def draw(y: Any, errors: dict[str, Any], path: Path) -> None:
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(11, 7.2), layout="constrained")
    grid = figure.add_gridspec(3, 3, height_ratios=[1, 0.8, 1.2])
    window = slice(CHANGE - 150, CHANGE + 350)
    k = np.arange(N)[window]
    top = error_axes = None
    for column, (name, error) in enumerate(errors.items()):
        top = figure.add_subplot(grid[0, column], sharey=top)
        top.plot(k, y[window], color="0.65", lw=2.5, label="target")
        top.plot(k, (y - error)[window], color=COLOURS[name], lw=1, label="prediction")
        top.set_title(f"{name}: {NOTES[name]}")
        top.legend(loc="upper right", frameon=False, ncols=2)
        top.set_ylim(-1.6, 2.1)
        error_axes = figure.add_subplot(grid[1, column], sharex=top, sharey=error_axes)
        error_axes.plot(k, error[window], color=COLOURS[name], lw=1)
        error_axes.set_xlabel("sample")
        for axes in (top, error_axes):
            axes.axvline(CHANGE, color="0.4", lw=0.8, ls="--")
        if column == 0:
            top.set_ylabel("signal")
            error_axes.set_ylabel("error")
    whole = figure.add_subplot(grid[2, :])
    for name, error in errors.items():
        size = np.sqrt(np.convolve(error**2, np.ones(100) / 100, mode="valid"))
        whole.semilogy(np.arange(99, N), np.maximum(size, 1e-17), color=COLOURS[name], label=name)
    whole.axvline(CHANGE, color="0.4", lw=0.8, ls="--")
    whole.text(
        CHANGE + 60, 0.97, "the rule changes", transform=whole.get_xaxis_transform(), va="top"
    )
    whole.set(xlabel="sample", ylabel="error (RMS of 100)", xlim=(0, N))
    whole.legend(loc="lower left", frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
