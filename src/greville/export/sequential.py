"""A program written out in C or JavaScript, whose loops are nearly the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..backend import Array
from ..layers import PatchSteps
from .coders import Coder, Days, Numbers, Numeric, OneOf
from .program import Bend, Product, Program, Standardize, Step, Waves

# Weights with fewer numbers than this part are written without their zeros.
_SPARSE = 1 / 3

_BENDS = {
    "tanh": "tanh({})",
    "sigmoid": "1 / (1 + exp(-{}))",
    "relu": "fmax({}, 0)",
    "sin": "sin({})",
    "cos": "cos({})",
    "hard-limit": "({} >= 0 ? 1 : 0)",
    "identity": "{}",
}


class Writer:
    """Lines of a program that is being written; a subclass has what differs by language.

    In lines, `REAL` and `INT` declare a variable.
    """

    real = integer = ""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.lines: list[str] = []
        self.bytes_of_constants = 0
        self.bytes_of_buffers = 0
        self._names = 0

    def constant(self, A: Any, *, whole: bool = False) -> str:
        """The name of an array of numbers that do not change."""
        raise NotImplementedError

    def texts(self, values: Iterable[str]) -> str:
        """The name of an array of texts that do not change."""
        raise NotImplementedError

    def buffer(self, n: int) -> str:
        """The name of an array that a call fills."""
        raise NotImplementedError

    def new_name(self, what: str) -> str:
        self._names += 1
        return f"{what}_{self._names}"

    def say(self, *lines: str) -> None:
        for line in lines:
            typed = re.sub(r"\bREAL\b", self.real, line)
            self.lines.append("    " + re.sub(r"\bINT\b", self.integer, typed))

    # Steps

    def hidden(self, program: Program) -> str:
        """From the inputs `x` to the units; the name of the array that has them."""
        n, x = program.n_inputs - program.n_direct, "x"
        for step in program.steps:
            x, n = self.after(x, n, step)
        if x == "x" and not program.n_direct:
            return x
        units = self.buffer(n + program.n_direct)
        first = program.n_inputs - program.n_direct
        self.say(
            f"for (INT i = 0; i < {n}; i++) {units}[i] = {x}[i];",
            f"for (INT i = 0; i < {program.n_direct}; i++) {units}[{n} + i] = x[{first} + i];",
        )
        return units if program.n_direct else x

    def after(self, x: str, n: int, step: Step) -> tuple[str, int]:
        """The name and the length of what comes out of a step."""
        if isinstance(step, Standardize):
            out, centre, unit = self.buffer(n), self.constant(step.centre), self.constant(step.unit)
            self.say(
                f"for (INT i = 0; i < {n}; i++) {out}[i] = ({x}[i] - {centre}[i]) / {unit}[i];"
            )
            return out, n
        if isinstance(step, Product):
            return self.product(x, step)
        if isinstance(step, Bend):
            bent = _BENDS[step.name].format(f"{x}[i]")
            factor = "" if step.factor == 1 else f"{number(step.factor)} * "
            if step.name != "identity" or factor:
                self.say(
                    f"for (INT i = {step.start}; i < {step.stop}; i++) {x}[i] = {factor}{bent};"
                )
            return x, n
        if isinstance(step, Waves):
            out = self.buffer(n + step.n_sines)
            self.say(
                f"for (INT i = 0; i < {n}; i++) {out}[i] = cos({x}[i]);",
                f"for (INT i = 0; i < {step.n_sines}; i++) {out}[{n} + i] = sin({x}[i]);",
            )
            return out, n + step.n_sines
        return self.patches(x, step)

    def product(self, x: str, step: Product) -> tuple[str, int]:
        n_in, n_out = step.weights.shape
        out, units = self.buffer(n_out), np.ascontiguousarray(step.weights.T)
        bias = "0" if step.bias is None else f"{self.constant(step.bias)}[j]"
        self.say(f"for (INT j = 0; j < {n_out}; j++) {{", f"    REAL sum = {bias};")
        if np.count_nonzero(units) < _SPARSE * units.size:
            rows, inputs = np.nonzero(units)
            starts = np.searchsorted(rows, np.arange(n_out + 1))
            first, inner = (self.constant(A, whole=True) for A in (starts, inputs))
            values = self.constant(units[rows, inputs])
            self.say(
                f"    for (INT k = {first}[j]; k < {first}[j + 1]; k++)",
                f"        sum += {x}[{inner}[k]] * {values}[k];",
            )
        else:
            values = self.constant(units)
            self.say(
                f"    for (INT i = 0; i < {n_in}; i++) sum += {x}[i] * {values}[j * {n_in} + i];"
            )
        self.say(f"    {out}[j] = sum;", "}")
        return out, n_out

    def patches(self, x: str, step: PatchSteps) -> tuple[str, int]:
        n_numbers, n_filters = step.weights.shape
        over = np.kron(step.over_rows, step.over_columns)
        cell, share = over.argmax(axis=0), over.max(axis=0)  # each pixel is in one cell
        channels, n_out = 2 * n_filters, len(over) * 2 * n_filters
        out = self.buffer(n_out)
        names = {
            "places": self.constant(step.places, whole=True),
            "cell": self.constant(cell, whole=True),
            "share": self.constant(share),
            "weights": self.constant(np.ascontiguousarray(step.weights.T)),
            "above": self.constant(step.above),
            "below": self.constant(step.below),
            "centre": self.constant(step.centre),
        }
        self.say(
            f"for (INT i = 0; i < {n_out}; i++) {out}[i] = {number(step.softening)};",
            f"for (INT p = 0; p < {over.shape[1]}; p++) {{",
            f"    for (INT f = 0; f < {n_filters}; f++) {{",
            "        REAL sum = 0;",
            f"        for (INT i = 0; i < {n_numbers}; i++)",
            f"            sum += {x}[{names['places']}[p * {n_numbers} + i]]",
            f"                * {names['weights']}[f * {n_numbers} + i];",
            f"        INT place = {names['cell']}[p] * {channels} + f;",
            f"        {out}[place] += {names['share']}[p] * fmax({names['above']}[f] + sum, 0);",
            f"        {out}[place + {n_filters}] +=",
            f"            {names['share']}[p] * fmax({names['below']}[f] - sum, 0);",
            "    }",
            "}",
            f"for (INT i = 0; i < {n_out}; i++)",
            f"    {out}[i] = (sqrt({out}[i]) - {names['centre']}[i]) / {number(step.unit)};",
        )
        return out, n_out

    def readout(self, units: str, n_units: int, n_outputs: int, weights: str, added: str) -> None:
        """The outputs `y`; weights are an array with the outputs of a unit beside each other."""
        self.say(
            f"for (INT k = 0; k < {n_outputs}; k++) {{",
            f"    REAL sum = {added}[k];",
            f"    for (INT j = 0; j < {n_units}; j++)",
            f"        sum += {units}[j] * {weights}[j * {n_outputs} + k];",
            "    y[k] = sum;",
            "}",
        )

    def probabilities(self, n: int, sharpness: float) -> None:
        """The class in `best`, and probabilities in the place of the scores `y`."""
        self.say(
            "INT best = 0;",
            f"for (INT k = 1; k < {n}; k++) if (y[k] > y[best]) best = k;",
            "REAL top = y[best], total = 0;",
            f"for (INT k = 0; k < {n}; k++) {{",
            f"    y[k] = exp(fmax({number(sharpness)} * (y[k] - top), -50));",
            "    total += y[k];",
            "}",
            f"for (INT k = 0; k < {n}; k++) y[k] /= total;",
        )

    # Columns

    def columns(self, coders: list[Coder], n_inputs: int) -> None:
        """From the values of columns to the inputs `x`, which are zero before."""
        late = n_inputs - sum(_n_late(coder) for coder in coders)
        start = 0
        for coder in coders:
            value = self.field(coder)
            if isinstance(coder, Numeric):
                start = self.numeric(value, coder, start)
            elif isinstance(coder, Days):
                start = self.days(value, coder, start)
            elif isinstance(coder, Numbers):
                end = start + coder.width
                self.say(f"for (INT i = {start}; i < {end}; i++) x[i] = {value}[i - {start}];")
                start = end
            else:
                self.one_of(value, coder, start, late)
                start += len(coder.values) + coder.others
                late += _n_late(coder)

    def numeric(self, value: str, coder: Numeric, start: int) -> int:
        gap = " || ".join(
            [self.is_missing(value), *(f"{value} == {number(g)}" for g in coder.gaps)]
        )
        self.say("{", f"    INT gap = {gap} ? 1 : 0;")
        self.say(f"    x[{start}] = gap ? {number(coder.instead)} : {value};")
        end = start + 1
        if coder.says_missing:
            self.say(f"    x[{end}] = gap;")
            end += 1
        if coder.limits:
            low, high = map(number, coder.limits)
            width = number((coder.limits[1] - coder.limits[0]) / 3)
            self.say(
                f"    REAL over = fmax(x[{start}] - {high}, 0) / {width};",
                f"    REAL under = fmax({low} - x[{start}], 0) / {width};",
                f"    x[{end}] = gap ? 0 : (over > 0 ? 1 : under > 0 ? -1 : 0);",
                f"    x[{start}] = fmin(fmax(x[{start}], {low}), {high})",
                f"        + {width} * (over / (1 + over) - under / (1 + under));",
            )
            end += 1
        self.say("}")
        return end

    def days(self, value: str, coder: Days, start: int) -> int:
        origin = number(coder.origin)
        self.say("{", f"    REAL day = {self.is_missing(value)} ? {origin} : {value};")
        self.say(f"    x[{start}] = day - {origin};")
        for i, period in enumerate(coder.periods):
            p, factor = number(period), number(2 * np.pi / period)
            turn = f"{factor} * (day - {p} * floor(day / {p}))"
            self.say(
                f"    x[{start + 2 * i + 1}] = sin({turn});",
                f"    x[{start + 2 * i + 2}] = cos({turn});",
            )
        self.say("}")
        return start + 1 + 2 * len(coder.periods)

    def one_of(self, value: str, coder: OneOf, start: int, late: int) -> None:
        constant = self.constant if coder.numeric else self.texts
        n, n_late = len(coder.values), len(coder.late)
        missing = self.is_missing(value) if coder.numeric else self.is_no_text(value)
        self.say("{", f"    INT gap = {missing} ? 1 : 0, known = -1, late = -1;")
        same = f"{value} == {{}}[i]" if coder.numeric else self.same_text(value, "{}[i]")
        for name, values in (("known", coder.values), ("late", coder.late)):
            if values:
                array = constant(values)
                self.say(
                    f"    for (INT i = 0; i < {len(values)}; i++)",
                    f"        if (!gap && {same.format(array)}) {name} = i;",
                )
        self.say(f"    if (known >= 0) x[{start} + known] = 1;")
        added = f"x[{start + coder.common}] = 1;"
        if coder.late:
            self.say(f"    else if (late >= 0) {{ x[{late} + late] = 1; {added} }}")
        if coder.late_gap:
            place = late + n_late + coder.late_others
            self.say(f"    else if (gap) {{ x[{place}] = 1; {added} }}")
        elif coder.gaps:
            self.say("    else if (gap) { }")
        if coder.others:
            self.say(f"    else if (!gap) x[{start + n}] = 1;")
        elif coder.late_others:
            self.say(f"    else if (!gap) {{ x[{late + n_late}] = 1; {added} }}")
        shares, late_shares = map(self.constant, coder.shares())
        self.say("    else {")
        self.say(f"        for (INT i = 0; i < {n}; i++) x[{start} + i] = {shares}[i];")
        if n_late:
            self.say(
                f"        for (INT i = 0; i < {n_late}; i++) x[{late} + i] = {late_shares}[i];"
            )
        self.say("    }", "}")

    def field(self, coder: Coder) -> str:
        """The value of a column in a row."""
        raise NotImplementedError

    def is_missing(self, value: str) -> str:
        """Whether a number is none."""
        return f"({value} != {value})"

    def is_no_text(self, value: str) -> str:
        """Whether a text is none."""
        raise NotImplementedError

    def same_text(self, value: str, other: str) -> str:
        """Whether two texts are the same."""
        raise NotImplementedError


def _n_late(coder: Coder) -> int:
    if not isinstance(coder, OneOf):
        return 0
    return len(coder.late) + coder.late_others + coder.late_gap


def number(x: Any) -> str:
    """A number that reads back as it is."""
    shown = repr(float(x))
    return f"({shown})" if shown.startswith("-") else shown


def numbers(A: Array, *, whole: bool) -> str:
    """Numbers with commas between them, a few to a line."""
    shown = [repr(int(x)) if whole else repr(float(x)) for x in np.ravel(A).tolist()]
    lines = [", ".join(shown[i : i + 8]) for i in range(0, len(shown), 8)]
    return ",\n    ".join(lines)


def quoted(text: Any) -> str:
    """A text as C and JavaScript write it."""
    return json.dumps(str(text), ensure_ascii=False)
