"""The outcome as JSON, as Markdown and as a picture."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ._contest import OURS, Match
from ._machine import Machine


def save(
    folder: Path,
    matches: list[Match],
    machine: Machine,
    environment: dict[str, Any],
    growth: dict[str, Any] | None,
    startup: dict[str, Any] | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "environment": environment,
        "machine": {"gemm": machine.gemm, "syrk": machine.syrk, "bandwidth": machine.bandwidth},
        "matches": [match.as_dict() for match in matches],
        "growth": growth,
        "startup": startup,
    }
    (folder / "speed.json").write_text(json.dumps(_plain(found), indent=1) + "\n")
    (folder / "speed.md").write_text(markdown(matches, machine, environment, growth, startup))
    if any(score.ratios for match in matches for score in match.scores[1:]):
        draw(matches, folder / "speed.png")
    print(f"written: {folder / 'speed.json'}, speed.md, speed.png")


def _plain(value: Any) -> Any:
    """Without nan, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown(
    matches: list[Match],
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
        "Ratios are our time divided by theirs, round by round: the median, and the middle half. "
        "Answers more than a thousandth apart (error rates: a quarter of a percent) are named.",
    ]
    for case in dict.fromkeys(match.case for match in matches):
        lines += ["", f"## {case}", "", "| job | who | time | ours / theirs | memory | |",
                  "|---|---|---|---|---|---|"]  # fmt: skip
        for match in (m for m in matches if m.case == case):
            for score in match.scores:
                mine = score is match.ours
                low, high = score.spread
                ratio = "" if mine else f"{score.ratio:.3f} ({low:.3f} to {high:.3f})"
                note = score.note
                if mine and math.isfinite(match.limit):
                    note = f"{match.part_of_limit:.0%} of the machine's limit"
                time = f"{score.median:.4g} {match.unit}" if score.times else ""
                job = match.job if mine else ""
                memory = f"{score.megabytes:.0f} MB" if math.isfinite(score.megabytes) else ""
                who = f"**{score.name}**" if mine else score.name
                ratio = ratio if score.times else ""
                lines.append(f"| {job} | {who} | {time} | {ratio} | {memory} | {note} |")
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
    """Whose it is; all ways of writing down the paper's rules are one."""
    first = name.split(maxsplit=1)[0].rstrip(",")
    return "the paper's rules in NumPy" if first in ("the", "eqs.") else first


def draw(matches: list[Match], path: Path) -> None:
    """A dot for every job and peer: how many times as long as ours it takes."""
    from matplotlib.figure import Figure

    rows = [
        (match, score)
        for match in matches
        for score in match.scores[1:]
        if score.ratios and not score.name.startswith(OURS)
    ]
    jobs = list(dict.fromkeys((match.case, match.job) for match, _ in rows))
    peers = list(dict.fromkeys(_library(score.name) for _, score in rows))
    colours = ["#c8452c", "#1f5fa8", "#3a8a4d", "#8a5fa8", "#c98a1a", "#4f9aa8", "#777777",
               "#a84f6f", "#5f6b1f", "#2f2f7f"]  # fmt: skip
    figure = Figure(figsize=(9, 1.2 + 0.24 * len(jobs)), layout="constrained")
    ax = figure.subplots()
    for i, peer in enumerate(peers):
        mine = [(match, score) for match, score in rows if _library(score.name) == peer]
        ax.plot(
            [1 / score.ratio for _, score in mine],
            [jobs.index((match.case, match.job)) for match, _ in mine],
            "o", color=colours[i % len(colours)], label=peer, markersize=6, alpha=0.85,
        )  # fmt: skip
    ax.axvline(1, color="black", linewidth=1)
    ax.set_xscale("log")
    ax.set_yticks(range(len(jobs)), [f"{case}: {job}" for case, job in jobs], fontsize=7)
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("times as long as greville (right of the line: slower than greville)")
    figure.legend(loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)
