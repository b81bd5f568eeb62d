"""Models as one file of C, which may go on learning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from .columns import ColumnCode, Numbers, OneOf
from .learning import learning_step
from .program import Program, program_of, write_file
from .sequential import Writer, numbers, quoted

_BYTES_OF_A_NUMBER, _BYTES_OF_AN_INDEX = 8, 4


def to_c(model: Any, path: Any = None, *, name: str = "model", learn: bool = False) -> str:
    """A fitted model as one file of C99 that needs nothing but the standard library.

    It has ``int NAME_predict(const NAME_real *x, NAME_real *y)``, which writes the prediction, or
    the probabilities of the classes, to y; for classes it returns the place of the most likely one
    in ``NAME_classes``. For the model of a table x is a ``const NAME_row *``, a struct with a field
    for each column (NAN or NULL where it is missing; days since 1970 for dates). Nothing is
    allocated: a comment says how much memory constants and buffers take. Compile with
    ``-DNAME_REAL=float`` for single precision. One thread may call it at a time.

    Parameters
    ----------
    model : ELMRegressor, ELMClassifier, solver, TableModel, TableRegressor, TableClassifier
        Fitted.
    path : path, optional
        Where to write it, too.
    name : str, default="model"
        What all names in the file begin with.
    learn : bool, default=False
        Whether there is also ``void NAME_learn(x, y)``, which learns one more row as the model
        would: for the solver `OpiumLight`, and for `Opium` with a given epsilon. For classes y has
        a one for the class and zeros for the others. Units of inputs and targets stay as they are.

    Returns
    -------
    source : str

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor, Opium, to_c
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = ELMRegressor(50, Opium(1e-3), random_state=0).fit(X, np.sin(X[:, 0]))
    >>> "void sine_learn(const sine_real *x, const sine_real *y)" in to_c(
    ...     model, name="sine", learn=True
    ... )
    True
    """
    if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)):
        raise ValueError(f"name={name!r}: pass letters, digits and _, with a letter first.")
    writer = _C(name)
    source = writer.source(program_of(model), model if learn else None)
    write_file(path, source.encode())
    return source


# The words of C that can be no names.
_RESERVED = (
    " auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while "
)


class _C(Writer):
    integer = "int"
    no_number = "({0} != {0})"
    no_text = "({0} == NULL || {0}[0] == 0)"
    same_text = "strcmp({}, {}[i]) == 0"

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.real = name, f"{name}_real"
        self.fields: dict[str, str] = {}
        self.functions: list[str] = []
        self.bytes_of_constants = self.bytes_of_buffers = 0

    def array(self, A: Any, *, whole: bool = False, changes: bool = False) -> str:
        name, A = f"{self.name}_{self.new_name('c')}", np.asarray(A)
        kind = ("" if changes else "const ") + ("int" if whole else self.real)
        shown = numbers(A, whole=whole) or 0
        self.constants.append(f"static {kind} {name}[{max(A.size, 1)}] = {{\n    {shown}}};")
        size = A.size * (_BYTES_OF_AN_INDEX if whole else _BYTES_OF_A_NUMBER)
        if changes:
            self.bytes_of_buffers += size
        else:
            self.bytes_of_constants += size
        return name

    def texts(self, values: Iterable[str]) -> str:
        name, values = f"{self.name}_{self.new_name('t')}", list(values)
        shown = ", ".join(map(quoted, values))
        self.constants.append(f"static const char *const {name}[{len(values)}] = {{{shown}}};")
        self.bytes_of_constants += sum(len(v.encode()) + 9 for v in values)
        return name

    def buffer(self, n: int) -> str:
        name = f"{self.name}_{self.new_name('b')}"
        self.constants.append(f"static {self.real} {name}[{n}];")
        self.bytes_of_buffers += _BYTES_OF_A_NUMBER * n
        return name

    def field(self, name: str) -> str:
        return f"row->{self.fields[name]}"

    def struct(self, columns: list[ColumnCode]) -> list[str]:
        """The type of a row of a table."""
        lines = ["typedef struct {"]
        for column in columns:
            field = re.sub(r"\W", "_", column.name, flags=re.ASCII)
            field = field if re.match(r"[A-Za-z]", field) else f"column_{field}"
            while field in self.fields.values() or f" {field} " in _RESERVED:
                field += "_"
            self.fields[column.name] = field
            is_text = isinstance(column, OneOf) and not column.numeric
            kind = f"const char *{field}" if is_text else f"{self.real} {field}"
            if isinstance(column, Numbers):
                kind += f"[{len(column.places)}]"
            lines.append(f"    {kind};  /* {_comment(column.name)} */")
        return [*lines, f"}} {self.name}_row;"]

    def function(self, head: str, *lines: str) -> None:
        """Make a function of the lines written since the last one, and of these."""
        self.say(*lines)
        self.functions += ["", f"{head} {{", *self.lines, "}"]
        self.lines = []

    def source(self, program: Program, learning: Any = None) -> str:
        """The text of the file; `learning` is a model that goes on to learn."""
        name, parts, n_outputs = self.name, program.parts, program.n_outputs
        head = self.struct(program.columns) if program.columns else []
        x, argument = "x", f"const {name}_real *x"
        if program.columns:
            x, argument = "row", f"const {name}_row *row"
            self.say(f"{name}_real *x = {self.buffer(parts.n_inputs)};")
            self.say(f"for (INT i = 0; i < {parts.n_inputs}; i++) x[i] = 0;")
            self.columns(program.columns)
        units = f"{name}_units({x})"
        result = self.hidden(program)
        self.function(f"static const {name}_real *{name}_units({argument})", f"return {result};")
        if learning is None:
            weights, added, notes = self.array(parts.weights), self.array(parts.intercept), []
        else:
            weights, added, learns, reads, what = learning_step(learning, self, units)
            self.function(f"void {name}_learn({argument}, const {name}_real *y)", *learns)
            self.say(*reads)
            notes = [f" * {name}_learn learns a row: {what}."]
        self.say(f"const {name}_real *h = {units};")
        self.readout("h", len(parts.weights), n_outputs, weights, added)
        place, what = "0", f"{n_outputs} number{'s' * (n_outputs > 1)}"
        if parts.classes is not None:
            self.probabilities(n_outputs, parts.sharpness)
            labels = ", ".join(map(quoted, parts.classes.tolist()))
            head.append(f"const char *const {name}_classes[] = {{{labels}}};")
            place, what = "best", f"{n_outputs} probabilities"
        self.function(f"int {name}_predict({argument}, {name}_real *y)", f"return {place};")
        macro = f"{name.upper()}_REAL"
        introduction = [
            f"/* A model of greville: {name}_predict writes {what} to y.",
            f" * Memory: {self.bytes_of_constants:,} bytes of constants and "
            f"{self.bytes_of_buffers:,} of variables; half with -D{macro}=float.",
            *notes,
            *(f" * Note: {_comment(note)}." for note in program.notes),
            " */",
            *(f"#include <{each}.h>" for each in ("math", "stddef", "string", "tgmath")),
            *(f"#ifndef {macro}", f"#define {macro} double", "#endif"),
            f"typedef {macro} {name}_real;",
        ]
        return "\n".join([*introduction, *head, *self.constants, *self.functions, ""])


def _comment(text: str) -> str:
    """Text that cannot end a comment."""
    return text.replace("*/", "* /").replace("\n", " ")
