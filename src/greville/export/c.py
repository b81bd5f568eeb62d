"""Models as one file of C, which may go on learning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from .coders import Coder, Numbers, OneOf
from .exported import Exported, read_model, write_file
from .learning_step import LearningStep, learning_step
from .program import Program
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
    exported = read_model(model)
    step = learning_step(model) if learn else None
    source = _source(exported, name, step)
    if path is not None:
        write_file(path, source.encode())
    return source


class _C(Writer):
    integer = "int"

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.real = name, f"{name}_real"
        self.fields: dict[str, str] = {}

    def constant(self, A: Any, *, whole: bool = False) -> str:
        return self.array(A, whole=whole)

    def array(self, A: Any, *, whole: bool = False, changes: bool = False) -> str:
        """The name of an array with these numbers at first."""
        name, A = f"{self.name}_{self.new_name('c')}", np.asarray(A)
        kind = "int" if whole else self.real
        const = "" if changes else "const "
        self.constants.append(
            f"static {const}{kind} {name}[{max(A.size, 1)}] = {{\n"
            f"    {numbers(A, whole=whole) or 0}}};"
        )
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

    def field(self, coder: Coder) -> str:
        return f"row->{self.fields[coder.name]}"

    def is_no_text(self, value: str) -> str:
        return f"({value} == NULL || {value}[0] == 0)"

    def same_text(self, value: str, other: str) -> str:
        return f"strcmp({value}, {other}) == 0"

    def struct(self, coders: list[Coder]) -> list[str]:
        """The type of a row of a table."""
        lines = ["typedef struct {"]
        for coder in coders:
            field = re.sub(r"\W", "_", coder.name, flags=re.ASCII)
            field = field if re.match(r"[A-Za-z]", field) else f"column_{field}"
            while field in self.fields.values() or f" {field} " in _RESERVED:
                field += "_"
            self.fields[coder.name] = field
            kind = f"{self.real} {field}"
            if isinstance(coder, OneOf) and not coder.numeric:
                kind = f"const char *{field}"
            elif isinstance(coder, Numbers):
                kind = f"{self.real} {field}[{coder.width}]"
            lines.append(f"    {kind};  /* {_comment(coder.name)} */")
        return [*lines, f"}} {self.name}_row;"]


# The words of C that can be no names.
_RESERVED = (
    " auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while "
)


def _source(exported: Exported, name: str, step: LearningStep | None) -> str:
    program, writer = exported.program, _C(name)
    struct = writer.struct(exported.coders) if exported.coders else []
    argument = f"const {name}_row *row" if struct else f"const {name}_real *x"
    call = "row" if struct else "x"
    if struct:
        x = writer.buffer(program.n_inputs)
        writer.say(f"{name}_real *x = {x};")
        writer.say(f"for (INT i = 0; i < {program.n_inputs}; i++) x[i] = 0;")
        writer.columns(exported.coders, program.n_inputs)
    units = writer.hidden(program)
    writer.say(f"return {units};")
    functions = [*_function(writer, f"static const {name}_real *{name}_units({argument})")]
    if step is None:
        weights, added = writer.constant(program.weights), writer.constant(program.intercept)
    else:
        weights, added = step.declare(writer)
        functions += _function(
            writer,
            f"void {name}_learn({argument}, const {name}_real *y)",
            *step.lines(f"{name}_units({call})"),
        )
    writer.say(*(step.before_reading() if step is not None else ()))
    writer.say(f"const {name}_real *h = {name}_units({call});")
    writer.readout("h", len(program.weights), program.n_outputs, weights, added)
    head = []
    if program.classes is None:
        writer.say("return 0;")
    else:
        writer.probabilities(program.n_outputs, program.sharpness)
        writer.say("return best;")
        labels = ", ".join(map(quoted, program.classes.tolist()))
        head = [f"const char *const {name}_classes[] = {{{labels}}};"]
    functions += _function(writer, f"int {name}_predict({argument}, {name}_real *y)")
    return "\n".join(
        [
            *_introduction(writer, exported, name, step),
            *struct,
            *head,
            *writer.constants,
            *functions,
        ]
    )


def _function(writer: Writer, head: str, *lines: str) -> list[str]:
    """The lines that were written since the last function, as a function."""
    writer.say(*lines)
    body, writer.lines = writer.lines, []
    return ["", f"{head} {{", *body, "}", ""]


def _introduction(
    writer: _C, exported: Exported, name: str, step: LearningStep | None
) -> list[str]:
    program, macro = exported.program, f"{name.upper()}_REAL"
    notes = [f" * Note: {_comment(note)}." for note in exported.notes]
    learns = [] if step is None else [f" * {name}_learn learns a row: {step.description}."]
    return [
        f"/* A model of greville: {name}_predict writes {_what(program)} to y.",
        f" * Memory: {writer.bytes_of_constants:,} bytes of constants and "
        f"{writer.bytes_of_buffers:,} of variables; half with -D{macro}=float.",
        *learns,
        *notes,
        " */",
        "#include <math.h>",
        "#include <stddef.h>",
        "#include <string.h>",
        "#include <tgmath.h>",
        f"#ifndef {macro}",
        f"#define {macro} double",
        "#endif",
        f"typedef {macro} {name}_real;",
    ]


def _what(program: Program) -> str:
    if program.classes is not None:
        return f"{program.n_outputs} probabilities"
    return "1 number" if program.n_outputs == 1 else f"{program.n_outputs} numbers"


def _comment(text: str) -> str:
    """Text that cannot end a comment."""
    return text.replace("*/", "* /").replace("\n", " ")
