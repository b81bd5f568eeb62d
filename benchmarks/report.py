"""The timings as JSON, as Markdown and as a picture."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from .comparison import OURS, Comparison
from .machine import Machine


def save(
    folder: Path,
    comparisons: list[Comparison],
    machine: Machine,
    environment: dict[str, Any],
    growth: dict[str, Any] | None,
    startup: dict[str, Any] | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "environment": environment,
        "machine": {"gemm": machine.gemm, "syrk": machine.syrk, "bandwidth": machine.bandwidth},
        "comparisons": [comparison.as_dict() for comparison in comparisons],
        "growth": growth,
        "startup": startup,
    }
    (folder / "speed.json").write_text(json.dumps(_plain(found), indent=1) + "\n")
    (folder / "speed.md").write_text(markdown(comparisons, machine, environment, growth, startup))
    if any(timing.ratios for comparison in comparisons for timing in comparison.timings[1:]):
        draw(comparisons, folder / "speed.png")
    print(f"written: {folder / 'speed.json'}, speed.md, speed.png")


def _plain(value: Any) -> Any:
    """With None for nan, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown(
    comparisons: list[Comparison],
    machine: Machine,
    environment: dict[str, Any],
    growth: dict[str, Any] | None,
    startup: dict[str, Any] | None,
) -> str:
    lines = [
        "# Speed, measured",
        "",
        f"{environment['cpu']}, {environment['cores']} cores, {environment['blas']}, Python "
        f"{environment['python']}. In the same run: dgemm {machine.gemm['float64'] / 1e9:.0f}, "
        f"sgemm {machine.gemm['float32'] / 1e9:.0f} thousand million operations a second, "
        f"memory {machine.bandwidth / 1e9:.1f} GB/s on one core.",
        "",
        "**Our time divided by theirs: below 1 means that greville is faster.** The table has "
        "the median over rounds, and in brackets the middle half. Answers that differ by more than "
        "a thousandth (error rates: a quarter of a percentage point) are marked. M is the number "
        "of hidden units, n the number of rows.",
    ]
    for case in dict.fromkeys(comparison.case for comparison in comparisons):
        lines += ["", f"## {case}", "", "| job | library | time | ours / theirs | memory | |",
                  "|---|---|---|---|---|---|"]  # fmt: skip
        for comparison in (m for m in comparisons if m.case == case):
            for timing in comparison.timings:
                mine = timing is comparison.ours
                low, high = timing.spread
                ratio = "" if mine else f"{timing.ratio:.3f} ({low:.3f} to {high:.3f})"
                note = timing.note
                if mine and math.isfinite(comparison.limit):
                    note = f"{comparison.part_of_limit:.0%} of the machine's limit"
                time = f"{timing.median:.4g} {comparison.unit}" if timing.times else ""
                job = comparison.job if mine else ""
                memory = f"{timing.megabytes:.0f} MB" if math.isfinite(timing.megabytes) else ""
                library = f"**{timing.name}**" if mine else timing.name
                ratio = ratio if timing.times else ""
                lines.append(f"| {job} | {library} | {time} | {ratio} | {memory} | {note} |")
    if growth:
        lines += ["", "## growth", "", "| rows | seconds | memory |", "|---|---|---|"]
        lines += [f"| {one['n']:,} | {one['seconds']:.2f} | {one['megabytes']:.1f} MB |"
                  for one in growth["rows"]]  # fmt: skip
        lines += ["", "| units | seconds | memory | M x M matrices beyond a block of rows |",
                  "|---|---|---|---|"]  # fmt: skip
        lines += [f"| {one['M']:,} | {one['seconds']:.2f} | {one['megabytes']:.0f} MB | "
                  f"{one['matrices']:.2f} |" for one in growth["units"]]  # fmt: skip
    if startup:
        lines += ["", "## start-up", "", "| | milliseconds | ratio |", "|---|---|---|"]
        lines += [f"| `{name}` | {one['milliseconds']:.0f} | {one['ratio']:.2f} |"
                  for name, one in startup.items()]  # fmt: skip
    return "\n".join(lines) + "\n"


def _library(name: str) -> str:
    """The name of the library; all forms of the rules of the paper count as one."""
    first = name.split(maxsplit=1)[0].rstrip(",")
    return "the paper's rules in NumPy" if first in ("the", "eqs.") else first


def draw(comparisons: list[Comparison], path: Path) -> None:
    """A dot for every job and library: its time as a multiple of ours."""
    from matplotlib.figure import Figure

    rows = [
        (comparison, timing)
        for comparison in comparisons
        for timing in comparison.timings[1:]
        if timing.ratios and not timing.name.startswith(OURS)
    ]
    jobs = list(dict.fromkeys((comparison.case, comparison.job) for comparison, _ in rows))
    libraries = list(dict.fromkeys(_library(timing.name) for _, timing in rows))
    colours = ["#c8452c", "#1f5fa8", "#3a8a4d", "#8a5fa8", "#c98a1a", "#4f9aa8", "#777777",
               "#a84f6f", "#5f6b1f", "#2f2f7f"]  # fmt: skip
    figure = Figure(figsize=(9, 1.2 + 0.24 * len(jobs)), layout="constrained")
    ax = figure.subplots()
    for i, library in enumerate(libraries):
        mine = [
            (comparison, timing) for comparison, timing in rows if _library(timing.name) == library
        ]
        ax.plot(
            [1 / timing.ratio for _, timing in mine],
            [jobs.index((comparison.case, comparison.job)) for comparison, _ in mine],
            "o", color=colours[i % len(colours)], label=library, markersize=6, alpha=0.85,
        )  # fmt: skip
    ax.axvline(1, color="black", linewidth=1)
    ax.set_xscale("log")
    ax.set_yticks(range(len(jobs)), [f"{case}: {job}" for case, job in jobs], fontsize=7)
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("times as long as greville (right of the line: slower than greville)")
    figure.legend(loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)
