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


def document(results: Sequence[Result], facts: dict[str, Any], folder: str) -> str:
    """The page, with links to the pictures in `folder`."""
    environment = facts["environment"]
    parts = [
        "# The paper, reproduced",
        "The experiments of van Schaik & Tapson, *Online and Adaptive Pseudoinverse Solutions for "
        "ELM Weights*, repeated: every figure, table and number of section 5, and the claims of "
        "sections 2 and 3. Our numbers stand next to those of the paper. A ratio is our number "
        "divided by that of the paper.",
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
