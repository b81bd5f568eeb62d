"""The record on the disk: a file of JSON for each group, and what CHANGELOG.md says of changes."""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "stored"
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
HEADING = "### Recorded behaviour"
WIDTH = 110


def read():
    """All recorded outcomes, by the names of their cases."""
    outcomes = {}
    for path in sorted(FOLDER.glob("*.json")):
        outcomes |= json.loads(path.read_text(encoding="utf-8"))
    return outcomes


def write(outcomes):
    """Replace the record by these outcomes."""
    groups = {}
    for name in sorted(outcomes):
        groups.setdefault(name.split("/", maxsplit=1)[0], {})[name] = outcomes[name]
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        if path.stem not in groups:
            path.unlink()
    for group, cases in groups.items():
        text = "\n".join(_lines(cases, 0, always=2)) + "\n"
        (FOLDER / f"{group}.json").write_text(text, encoding="utf-8")


def _lines(value, depth, always=0):
    """JSON with a line for what is short, so that a difference is a line or two."""
    short = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not value or not isinstance(value, (dict, list)):
        return [short]
    if not always and len(short) <= WIDTH:
        return [short]
    if isinstance(value, dict):
        names = [f"{json.dumps(key, ensure_ascii=False)}: " for key in sorted(value)]
        parts, ends = [value[key] for key in sorted(value)], "{}"
    else:
        names, parts, ends = [""] * len(value), value, "[]"
    found = [ends[0]]
    for i, (name, part) in enumerate(zip(names, parts, strict=True)):
        inner = _lines(part, depth + 1, max(always - 1, 0))
        inner[0] = " " * (depth + 1) + name + inner[0]
        inner[-1] += "," if i < len(parts) - 1 else ""
        found += inner
    return [*found, " " * depth + ends[1]]


def note(text, names):
    """Add a line about accepted changes to the topmost section of CHANGELOG.md."""
    before = CHANGELOG.read_text(encoding="utf-8")
    CHANGELOG.write_text(noted(before, text, names), encoding="utf-8")


def noted(changelog, text, names):
    """The changelog with the note, the number of cases and the groups in which they are.

    >>> before = "# Changelog\\n\\n## 2.0\\n\\n- New.\\n\\n## 1.0\\n"
    >>> print(noted(before, "Changed.", ["a/b", "a/c"]))
    # Changelog
    <BLANKLINE>
    ## 2.0
    <BLANKLINE>
    - New.
    <BLANKLINE>
    ### Recorded behaviour
    <BLANKLINE>
    - Changed. (2 cases: a)
    <BLANKLINE>
    ## 1.0
    <BLANKLINE>
    """
    groups = ", ".join(sorted({name.split("/", maxsplit=1)[0] for name in names}))
    line = f"- {text} ({len(names)} case{'' if len(names) == 1 else 's'}: {groups})"
    starts = [found.start() for found in re.finditer(r"^## ", changelog, re.MULTILINE)]
    end = starts[1] if len(starts) > 1 else len(changelog)
    section, rest = changelog[:end].rstrip("\n"), changelog[end:]
    if HEADING in section:
        head, tail = section.split(HEADING)
        ends = re.search(r"^### ", tail, re.MULTILINE)
        cut = ends.start() if ends else len(tail)
        inside, after = tail[:cut].rstrip("\n"), tail[cut:]
        section = f"{head}{HEADING}{inside}\n{line}" + (f"\n\n{after}" if after else "")
    else:
        section += f"\n\n{HEADING}\n\n{line}"
    return section + "\n" + (f"\n{rest}" if rest else "")
