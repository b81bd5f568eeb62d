"""The report as one HTML page without other files."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from .result import Block, Picture, Result, Table, Text

CITATION = (
    "A. van Schaik and J. Tapson, <cite>Online and Adaptive Pseudoinverse Solutions for ELM "
    "Weights</cite>, Neurocomputing 149 (2015), 233-238"
)


def page(results: Sequence[Result], facts: dict[str, Any], images: dict[str, bytes]) -> str:
    """The page, with every image embedded."""
    style = (files(__package__) / "report.css").read_text(encoding="utf-8")
    skipped = [
        f'<p class="notice"><strong>{escape(name)} was not run.</strong> {escape(why)}</p>'
        for name, why in facts["skipped"].items()
    ]
    contents = [
        ("summary", "Summary"),
        *((result.name, result.title) for result in results),
        ("environment", "How this was made"),
    ]
    links = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in contents)
    sections = [
        f'<section id="{result.name}">\n<h2>{escape(result.title)}</h2>\n'
        + "\n".join(_block(block, images) for block in result.blocks())
        + "\n</section>"
        for result in results
    ]
    summary = "".join(f"<li>{_inline(result.summary())}</li>" for result in results)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>The paper, reproduced with greville</title>",
            '<link rel="icon" href="data:,">',
            f"<style>\n{style}</style>\n</head>\n<body>\n<header>",
            "<h1>The paper, reproduced</h1>",
            f'<p class="lead">{CITATION}: its numbers next to those of greville. '
            "A ratio is our number divided by that of the paper. Words and symbols are those of "
            "docs/paper.md and docs/glossary.md.</p>",
            f"<nav><ul>{links}</ul></nav>\n</header>\n<main>",
            *skipped,
            f'<section id="summary">\n<h2>Summary</h2>\n<ul>{summary}</ul>\n</section>',
            *sections,
            _environment(facts),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _block(block: Block, images: dict[str, bytes]) -> str:
    if isinstance(block, Text):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Table):
        return _table(block)
    return _picture(block, images[block.name]) if block.name in images else ""


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _table(table: Table) -> str:
    """Write a table; columns of numbers are aligned as such, except the first column."""
    is_number = [
        column > 0 and all(_is_number(row[column]) for row in table.rows)
        for column in range(len(table.columns))
    ]
    kinds = [' class="number"' if number else "" for number in is_number]
    head = "".join(f"<th{k}>{_inline(c)}</th>" for k, c in zip(kinds, table.columns, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{k}>{_inline(c)}</td>" for k, c in zip(kinds, row, strict=True))
        + "</tr>"
        for row in table.rows
    )  # fmt: skip
    note = f'\n<p class="note">{_inline(table.note)}</p>' if table.note else ""
    return (
        f'<div class="wide"><table>\n<caption><strong>{_inline(table.title)}</strong></caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>{note}"
    )


def _is_number(cell: str) -> bool:
    return cell in ("", "overflow") or cell[0].isdigit()


def _picture(picture: Picture, png: bytes) -> str:
    source = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    title, caption = escape(picture.title), _inline(picture.caption)
    return (
        f'<figure>\n<div class="wide"><img src="{source}" '
        f'alt="{title}: {escape(picture.caption)}"></div>\n'
        f"<figcaption><strong>{title}.</strong> {caption}</figcaption>\n</figure>"
    )


def _environment(facts: dict[str, Any]) -> str:
    made = Table("Environment", ["", ""], [[k, str(v)] for k, v in facts["environment"].items()])
    command = f"<pre><code>{escape(facts['command'])}</code></pre>" if facts["command"] else ""
    return (
        f'<section id="environment">\n<h2>How this was made</h2>\n{command}\n'
        "<p>The same seed gives the same numbers on the same machine; times and memory vary. All "
        "numbers, with all digits, are in <code>results.json</code> beside this page. The figures "
        f"are there as PNG and SVG.</p>\n{_table(made)}\n</section>"
    )
