"""How two outcomes differ, and how the differences of many cases are printed in groups."""

import difflib
import re
from dataclasses import dataclass
from numbers import Real

# Of the largest number in the same list.
TOLERANCE = 2e-5
# Of what `outcome.about` has recorded.
ABOUT = 2e-3
# What is printed of a value, and how many names of a group.
WIDTH = 300
NAMES = 12


@dataclass(frozen=True)
class Difference:
    """One place in which an outcome differs from the record."""

    case: str
    kind: str
    place: str
    before: object
    after: object
    size: float = 0.0

    @property
    def group(self):
        """Differences with the same group are printed together."""
        place = re.sub(r"\[\d+\]", "[]", self.place)
        if self.kind in ("number", "field is new", "field is gone"):
            return self.kind, self.case.split("/", maxsplit=1)[0], place
        return self.kind, _pattern(self.before), _pattern(self.after)


def differences(case, before, after):
    """All differences of an outcome from that in the record."""
    return list(_walk(case, "", before, after, {}))


def _walk(case, place, before, after, scale):
    if _is_number(before) and _is_number(after):
        largest = max(abs(before), abs(after), scale.get("largest", 0.0))
        size = abs(before - after) / largest if largest else 0.0
        if size > scale.get("tolerance", TOLERANCE):
            yield Difference(case, "number", place, before, after, size)
    elif isinstance(before, dict) and isinstance(after, dict):
        tolerance = {"tolerance": ABOUT} if "about" in before else {}
        for key in sorted(before.keys() | after.keys()):
            there = f"{place}.{key}" if place else key
            if key not in after:
                yield Difference(case, "field is gone", there, before[key], None)
            elif key not in before:
                yield Difference(case, "field is new", there, None, after[key])
            else:
                yield from _walk(case, there, before[key], after[key], tolerance)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(case, place, before, after)
    elif type(before) is not type(after) or before != after:
        yield Difference(case, "value", place, before, after)


def _lists(case, place, before, after):
    if len(before) == len(after):
        numbers = [abs(each) for each in (*before, *after) if _is_number(each)]
        scale = {"largest": max(numbers, default=0.0)}
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _walk(case, f"{place}[{i}]", old, new, scale)
        return
    old, new = [repr(each) for each in before], [repr(each) for each in after]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        if what != "equal":
            yield Difference(case, "lines", f"{place}[{i}]", before[i:j], after[k:m])


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _pattern(value):
    """The value with its numbers replaced: the same message about other numbers is one group."""
    return re.sub(r"\d[\d.,]*", "#", repr(value))


def grouped(found):
    """The differences in groups, the largest groups first."""
    groups = {}
    for each in found:
        groups.setdefault(each.group, []).append(each)
    return sorted(groups.values(), key=lambda group: (-len({d.case for d in group}), group[0].case))


def described(group):
    """The lines to print about a group."""
    cases = list(dict.fromkeys(each.case for each in group))
    example = max(group, key=lambda each: each.size)
    what = example.kind
    if what == "number":
        what = f"numbers, by at most {example.size:.1e} of the largest in their list"
    yield f"{_counted(len(cases), 'case')}: {what}; {example.place} of {example.case}"
    yield f"    was {_short(example.before)}"
    yield f"    is  {_short(example.after)}"
    if len(cases) > 1:
        yield f"    in {_names(cases)}"


def _short(value):
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ..."


def _names(names):
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + more


def _counted(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def report(stored, found, asked):
    """The lines to print, and the names of the cases that are not as in the record.

    `found` are the outcomes of the cases that ran; `asked` are names in the record or the program.
    """
    new = [name for name in asked if name not in stored]
    gone = [name for name in asked if name not in found]
    both = [name for name in asked if name in stored and name in found]
    different = {name: differences(name, stored[name], found[name]) for name in both}
    different = {name: each for name, each in different.items() if each}
    groups = grouped([d for each in different.values() for d in each])
    lines = []
    for group in groups:
        lines += [*described(group), ""]
    for names, text in ((new, "not in the record"), (gone, "in the record, and not run any more")):
        if names:
            lines += [f"{_counted(len(names), 'case')}: {text}", f"    {_names(names)}", ""]
    n_groups = len(groups) + bool(new) + bool(gone)
    changed = sorted([*different, *new, *gone])
    same = len(asked) - len(changed)
    end = f"{_counted(len(asked), 'case')}: {same} the same"
    if changed:
        verb = "differs" if len(changed) == 1 else "differ"
        end += f", {len(changed)} {verb} in {_counted(n_groups, 'group')}"
    return [*lines, end + "."], changed
