"""Models as a module of JavaScript."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .program import Program, program_of, write_file
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
    source = _source(program_of(model))
    write_file(path, source.encode())
    return source


class _JavaScript(Writer):
    real = integer = "let"
    no_number = "({0} == null || {0} !== {0})"
    no_text = '({0} == null || {0} === "")'
    same_text = "{} === {}[i]"

    def array(self, A: Any, *, whole: bool = False, changes: bool = False) -> str:
        name, kind = self.new_name("c"), "Int32Array" if whole else "Float64Array"
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

    def field(self, name: str) -> str:
        return f"row[{quoted(name)}]"


def _source(program: Program) -> str:
    writer, parts = _JavaScript(), program.parts
    if program.columns:
        writer.say(f"const x = new Float64Array({parts.n_inputs});")
        writer.columns(program.columns)
    else:
        writer.say(
            f"if (x.length !== {parts.n_inputs})",
            f'    throw new Error("x: pass {parts.n_inputs} numbers");',
        )
    units = writer.hidden(program)
    writer.say(f"const y = new Float64Array({program.n_outputs});")
    weights, added = writer.array(parts.weights), writer.array(parts.intercept)
    writer.readout(units, len(parts.weights), program.n_outputs, weights, added)
    if parts.classes is not None:
        writer.probabilities(program.n_outputs, parts.sharpness)
        shown = json.dumps(parts.classes.tolist(), ensure_ascii=False)
        writer.constants.append(f"export const classes = {shown};")
        writer.say("return { label: classes[best], probabilities: Array.from(y) };")
    else:
        writer.say("return y[0];" if parts.flat else "return Array.from(y);")
    return "\n".join(
        [
            "// A model of greville: predict(x) needs nothing else.",
            *(f"// {note}" for note in program.notes),
            "const { tanh, exp, sin, cos, sqrt, floor, max: fmax, min: fmin } = Math;",
            *writer.constants,
            f"export function predict({'row' if program.columns else 'x'}) {{",
            *writer.lines,
            "}",
            "",
        ]
    )
