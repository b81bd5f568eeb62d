"""Models as a module of JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .coders import Coder
from .exported import Exported, read_model, write_file
from .program import Program
from .sequential import Writer, numbers, quoted


def to_js(model: Any, path: Any = None) -> str:
    """A fitted model as a JavaScript module, which predicts in a browser or in Node.js.

    It exports ``predict(x)``: for an estimator x is an array of numbers, for a model of a table an
    object with a value for each column (null where it is missing; days since 1970 for dates). It
    returns a number, an array where there are several targets, or for classes
    ``{label, probabilities}``. Numbers are computed in double precision.

    Parameters
    ----------
    model : ELMRegressor, ELMClassifier, solver, TableModel, TableRegressor, TableClassifier
        Fitted.
    path : path, optional
        Where to write it, too.

    Returns
    -------
    source : str

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor, to_js
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> source = to_js(ELMRegressor(50, random_state=0).fit(X, np.sin(X[:, 0])))
    >>> "export function predict(x)" in source
    True
    """
    exported = read_model(model)
    source = _source(exported)
    if path is not None:
        write_file(path, source.encode())
    return source


class _JavaScript(Writer):
    real = integer = "let"

    def constant(self, A: Any, *, whole: bool = False) -> str:
        name, kind = self.new_name("c"), "Int32Array" if whole else "Float64Array"
        A = np.asarray(A)
        self.constants.append(f"const {name} = new {kind}([\n    {numbers(A, whole=whole)}]);")
        return name

    def texts(self, values: Iterable[str]) -> str:
        name = self.new_name("t")
        self.constants.append(f"const {name} = [{', '.join(map(quoted, values))}];")
        return name

    def buffer(self, n: int) -> str:
        name = self.new_name("b")
        self.say(f"const {name} = new Float64Array({n});")
        return name

    def field(self, coder: Coder) -> str:
        return f"row[{quoted(coder.name)}]"

    def is_missing(self, value: str) -> str:
        return f"({value} == null || {value} !== {value})"

    def is_no_text(self, value: str) -> str:
        return f'({value} == null || {value} === "")'

    def same_text(self, value: str, other: str) -> str:
        return f"{value} === {other}"


def _source(exported: Exported) -> str:
    program, writer = exported.program, _JavaScript()
    argument = "row" if exported.coders else "x"
    if exported.coders:
        writer.say(f"const x = new Float64Array({program.n_inputs});")
        writer.columns(exported.coders, program.n_inputs)
    else:
        writer.say(
            f"if (x.length !== {program.n_inputs})",
            f'    throw new Error("x: pass {program.n_inputs} numbers");',
        )
    units = writer.hidden(program)
    writer.say(f"const y = new Float64Array({program.n_outputs});")
    weights, added = writer.constant(program.weights), writer.constant(program.intercept)
    writer.readout(units, len(program.weights), program.n_outputs, weights, added)
    _answer(writer, program)
    notes = [f"// {note}" for note in exported.notes]
    functions = "tanh, exp, sin, cos, sqrt, floor, max: fmax, min: fmin"
    return "\n".join(
        [
            "// A model of greville: predict(x) needs nothing else.",
            *notes,
            f"const {{ {functions} }} = Math;",
            *writer.constants,
            f"export function predict({argument}) {{",
            *writer.lines,
            "}",
            "",
        ]
    )


def _answer(writer: Writer, program: Program) -> None:
    if program.classes is not None:
        writer.probabilities(program.n_outputs, program.sharpness)
        labels = program.classes.tolist()
        shown = ", ".join(quoted(x) if isinstance(x, str) else _literal(x) for x in labels)
        writer.constants.append(f"export const classes = [{shown}];")
        writer.say("return { label: classes[best], probabilities: Array.from(y) };")
    else:
        writer.say("return y[0];" if program.flat else "return Array.from(y);")


def _literal(label: Any) -> str:
    return ("true" if label else "false") if isinstance(label, bool) else repr(label)
