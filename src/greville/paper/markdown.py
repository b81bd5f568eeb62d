"""docs/reproduction.md, from a results.json: ``python -m greville.paper.markdown FOLDER``.

FOLDER is the one that ``greville paper --out FOLDER`` wrote to, next to the page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._report import read_results
from .result import Block, Picture, Result, Table, Text

KEYS = """
`experiments` has a key per experiment. Errors are root mean squares, or per cent for MNIST; times are
in seconds, memory in megabytes of 2^20 bytes; `null` stands for a number that overflowed. The keys
do not change; `format` is increased if one changes its meaning.

| key | what |
|---|---|
| `format`, `command`, `skipped`, `environment`, `files` | of this file; the command line; experiments left out, and why; versions and hardware; the files of the report |
| `*.seed`, `*.runs`, `*.paper` | the first seed; the number of runs; the numbers of the paper |
| `sine.drawn` | the reading that Figure 1 shows |
| `sine.readings.READING.n_samples`, `.dt`, `.lags` | READING is `literal`, `fine` or `long`: the signal |
| `sine.readings.READING.ALGORITHM.mean`, `.median`, `.std`, `.min`, `.max` | ALGORITHM is `opium`, `light` or `dynamic`: over the runs |
| `sine.long_run.n_samples`, `.runs` | the longer signal |
| `sine.long_run.READING.RULE.worst_final_rms` | RULE is `printed`, `root` or `floored`: the last 1000 samples of the worst run |
| `sine.long_run.READING.RULE.worst_error` | the largest error of all runs from sample 10,000 on |
| `sine.long_run.READING.RULE.errors` | the same of each run |
| `ecg.seconds` | the length of the signal |
| `ecg.rms.METHOD.first second`, `.after it` | in millivolts; METHOD is an ALGORITHM, `dynamic_default`, `dynamic_floored`, `persistence` or `linear` |
| `exactness.units`, `.rows`, `.epsilon` | the problem |
| `exactness.condition.SET` | SET is `random` or `ecg`: the condition number of the activations below εI |
| `exactness.difference.SET.METHOD` | METHOD is `greville`, `opium_by_one`, `opium_in_chunks`, `opium_at_once`, `printed` or `light` |
| `mnist.units`, `.dtype` | hidden units; the type of the numbers |
| `mnist.RUN.error` | RUN is `opium` or `light`, then `_60000`, `_10000` (drawn) or `_first_10000` |
| `mnist.RUN.seconds`, `.training_seconds` | training and test; training alone |
| `mnist.RUN.megabytes`, `.megabytes_beyond_data` | peak of the process; the same minus its memory after loading the data |
| `mnist.gains.GAIN` | the error of OPIUM light with that gain |
| `mnist.light_spread.RUN` | errors with the seeds 0, 1, … |
| `mnist.theta.g` | the mean of the diagonal of θ |
| `mnist.theta.diagonal_max_over_min`, `.diagonal_max_over_min_of_99_percent` | of its diagonal |
| `mnist.theta.off_diagonal_mean_size_over_g`, `.off_diagonal_rms_over_g`, `.off_diagonal_below_a_tenth_of_g` | of the rest; the last is a share |
""".strip()  # noqa: E501 - one row of a table is one line


def document(results: Sequence[Result], facts: dict[str, Any], folder: str) -> str:
    """The page, with links to the pictures in `folder`."""
    environment = facts["environment"]
    parts = [
        "# The paper, reproduced",
        "The experiments of van Schaik & Tapson, *Online and Adaptive Pseudoinverse Solutions for "
        "ELM Weights*, repeated: every figure, table and number of section 5, and the claims of "
        "sections 2 and 3. Our numbers stand next to those of the paper. A ratio is our number "
        "divided by that of the paper.",
        "## Summary",
        "\n".join(f"- {result.summary()}" for result in results),
        "Words and symbols are those of the [paper](paper.md) and the [glossary](glossary.md).",
    ]
    for result in results:
        parts.append(f"## {result.title}")
        parts += [_block(block, folder) for block in result.blocks()]
    parts += [
        "## How this page was made",
        f"This page was made from [{folder}/results.json]({folder}/results.json) by `make "
        "reproduction`, which first runs",
        f"    {facts['command']}",
        f"with `GREVILLE_DATA` set to a folder that contains MNIST. Made on {environment['cpu']}, "
        f"{environment['cores']} cores, with Python {environment['python']}, NumPy "
        f"{environment['numpy']}, SciPy {environment['scipy']} and {environment['blas']}. The same "
        "seed gives the same numbers on the same machine; times and memory vary.",
        "## The contents of results.json",
        KEYS,
    ]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, folder: str) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Picture):
        image = f"![{block.title}]({folder}/{block.name}.png)"
        return f"{image}\n\n*{block.title}. {block.caption}*"
    return _table(block)


def _table(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    note = f"\n\n{table.note}" if table.note else ""
    return f"**{table.title}**\n\n" + "\n".join(lines) + note


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.stdout.write(document(*read_results(folder / "results.json"), folder.name))
