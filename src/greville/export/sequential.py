"""A program written out in C or JavaScript, whose loops are nearly the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from ..backend import Array
from ..layers import PatchSteps
from .columns import ColumnCode, Days, Numbers, Numeric, OneOf
from .program import Bend, Product, Program, Step

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

    Attributes
    ----------
    real, integer : str
        What declares variables.
    no_number, no_text, same_text : str
        Conditions on values: that one is missing, and that two texts are the same.
    """

    real: str
    integer: str
    no_number: ClassVar[str]
    no_text: ClassVar[str]
    same_text: ClassVar[str]

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.lines: list[str] = []
        self._names = 0

    def array(self, A: Any, *, whole: bool = False, changes: bool = False) -> str:
        """Declare an array that starts with these numbers; return its name."""
        raise NotImplementedError

    def texts(self, values: Iterable[str]) -> str:
        """Declare an array of texts; return its name."""
        raise NotImplementedError

    def buffer(self, n: int) -> str:
        """Declare an array that a call fills; return its name."""
        raise NotImplementedError

    def field(self, name: str) -> str:
        """The expression for the value of a column in a row."""
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
        """Write the code from the inputs `x` to the units; return the name of their array."""
        parts, n, x = program.parts, program.n_inner, "x"
        if parts.unit is not None:
            out, unit = self.buffer(n), self.array(parts.unit)
            centre = self.array(np.zeros(n) if parts.centre is None else parts.centre)
            self.say(f"for (INT i = 0; i < {n}; i++) {out}[i] = (x[i] - {centre}[i]) / {unit}[i];")
            x = out
        for step in program.steps:
            x, n = self.after(x, n, step)
        if not parts.n_direct:
            return x
        units = self.buffer(n + parts.n_direct)
        self.say(
            f"for (INT i = 0; i < {n}; i++) {units}[i] = {x}[i];",
            f"for (INT i = 0; i < {parts.n_direct}; i++)",
            f"    {units}[{n} + i] = x[{program.n_inner} + i];",
        )
        return units

    def after(self, x: str, n: int, step: Step) -> tuple[str, int]:
        """Write a step; return the name of its output and how many numbers that has."""
        if isinstance(step, Product):
            return self.product(x, step)
        if isinstance(step, PatchSteps):
            return self.patches(x, step)
        if not isinstance(step, Bend):
            raise ValueError(
                f"model: its layer {type(step).__name__} can be exported as ONNX alone; use "
                "to_onnx, or export a model of the features that come out of it."
            )
        bent = _BENDS[step.name].format(f"{x}[i]")
        factor = "" if step.factor == 1 else f"{number(step.factor)} * "
        if factor or step.name != "identity":
            self.say(f"for (INT i = {step.start}; i < {step.stop}; i++) {x}[i] = {factor}{bent};")
        return x, n

    def sparse(self, A: Array) -> tuple[str, str, str]:
        """Arrays of what is not zero in the rows of A: where each begins, columns and numbers."""
        rows, columns = np.nonzero(A)
        bounds = np.searchsorted(rows, np.arange(len(A) + 1))
        starts, inner = (self.array(each, whole=True) for each in (bounds, columns))
        return starts, inner, self.array(A[rows, columns])

    def product(self, x: str, step: Product) -> tuple[str, int]:
        n_in, n_out = step.weights.shape
        out, units = self.buffer(n_out), np.ascontiguousarray(step.weights.T)
        bias = "0" if step.bias is None else f"{self.array(step.bias)}[j]"
        self.say(f"for (INT j = 0; j < {n_out}; j++) {{", f"    REAL sum = {bias};")
        if np.count_nonzero(units) < _SPARSE * units.size:
            starts, inner, values = self.sparse(units)
            self.say(
                f"    for (INT k = {starts}[j]; k < {starts}[j + 1]; k++)",
                f"        sum += {x}[{inner}[k]] * {values}[k];",
            )
        else:
            values = self.array(units)
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
            "places": self.array(step.places, whole=True),
            "cell": self.array(cell, whole=True),
            "share": self.array(share),
            "weights": self.array(np.ascontiguousarray(step.weights.T)),
            "above": self.array(step.above),
            "below": self.array(step.below),
            "centre": self.array(step.centre),
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

    def columns(self, columns: list[ColumnCode]) -> None:
        """Write the code from the values of columns to the inputs `x`, which are zero before."""
        for column in columns:
            value, start = self.field(column.name), column.places[0]
            if isinstance(column, Numeric):
                self.number(value, start, column)
            elif isinstance(column, Days):
                self.days(value, start, column)
            elif isinstance(column, Numbers):
                n = len(column.places)
                self.say(f"for (INT i = 0; i < {n}; i++) x[{start} + i] = {value}[i];")
            else:
                self.one_of(value, column)

    def number(self, value: str, start: int, column: Numeric) -> None:
        gaps = [f"{value} == {number(gap)}" for gap in column.gaps]
        if column.limits:
            low, high = map(number, column.limits)
            gaps.append(f"{value} < {low} || {value} > {high}")
        gap = " || ".join([self.no_number.format(value), *gaps])
        self.say(
            "{",
            f"    INT gap = {gap} ? 1 : 0;",
            f"    x[{start}] = gap ? {number(column.instead)} : {value};",
        )
        if column.says_missing:
            self.say(f"    x[{start + 1}] = gap;")
        self.say("}")

    def days(self, value: str, start: int, column: Days) -> None:
        origin = number(column.origin)
        self.say(
            "{",
            f"    REAL day = {self.no_number.format(value)} ? {origin} : {value};",
            f"    x[{start}] = day - {origin};",
        )
        for i, period in enumerate(column.periods):
            p, factor = number(period), number(2 * np.pi / period)
            turn = f"{factor} * (day - {p} * floor(day / {p}))"
            self.say(
                f"    x[{start + 2 * i + 1}] = sin({turn});",
                f"    x[{start + 2 * i + 2}] = cos({turn});",
            )
        self.say("}")

    def one_of(self, value: str, column: OneOf) -> None:
        n, gap = len(column.values), self.no_number if column.numeric else self.no_text
        learned = self.array(column.values) if column.numeric else self.texts(column.values)
        same = "{} == {}[i]" if column.numeric else self.same_text
        starts, inner, values = self.sparse(column.codes)
        places = self.array(column.places, whole=True)
        self.say(
            "{",
            f"    INT gap = {gap.format(value)} ? 1 : 0, at = {n} + gap;",
            f"    for (INT i = 0; i < {n}; i++) if (!gap && {same.format(value, learned)}) at = i;",
            f"    for (INT k = {starts}[at]; k < {starts}[at + 1]; k++)",
            f"        x[{places}[{inner}[k]]] = {values}[k];",
            "}",
        )


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
