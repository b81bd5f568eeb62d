"""Models in the format of ONNX, which runs in many programs and on many devices."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from ..backend import Array
from ..layers import PatchSteps
from .coders import Coder, Days, Numbers, Numeric, OneOf
from .exported import Exported, read_model, write_file
from .program import Bend, Product, Program, Standardize, Step, Waves

# The version of ONNX's operators, the first that compares text, and the format that goes with it.
OPSET, _IR_VERSION = 19, 9

# No class is less likely than exp(-50) times the most likely one, as in `predict_proba`.
_FAR = -50.0

_OPERATORS = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu", "sin": "Sin", "cos": "Cos"}


def to_onnx(model: Any, path: Any = None, *, precision: str = "float64") -> Any:
    """A fitted model as an ONNX model, which predicts without greville, and without Python.

    An estimator's has one input ``X``, float32, of shape (rows, n_features). A table's has an input
    of shape (rows, 1) for each column: float64 for numbers and true or false (NaN where it is
    missing), text for categories ("" where it is missing), days since 1970 for dates, and the
    numbers that greville makes of it for free text: `metadata_props` says which.

    Outputs are ``prediction`` for numbers; ``label`` and ``probabilities`` for classes, with the
    model's calibration.

    Parameters
    ----------
    model : ELMRegressor, ELMClassifier, solver, TableModel, TableRegressor, TableClassifier
        Fitted.
    path : path, optional
        Where to write it, too.
    precision : {"float64", "float32"}, default="float64"
        In which numbers are computed inside. "float32" takes half the space, and is for devices
        without the other; how many digits it loses depends on the size of the model's weights.

    Returns
    -------
    proto : onnx.ModelProto
        With the operators of opset 19.

    Raises
    ------
    ValueError
        If there are no operators for its hidden layer, as for a transformer that is not greville's.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor, to_onnx
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> proto = to_onnx(ELMRegressor(50, random_state=0).fit(X, np.sin(X[:, 0])))
    >>> [each.name for each in proto.graph.output]
    ['prediction']
    """
    if precision not in ("float32", "float64"):
        raise ValueError(f"precision={precision!r}: choose 'float64' or 'float32'.")
    proto = _Graph(np.dtype(precision)).model(read_model(model))
    if path is not None:
        write_file(path, proto.SerializeToString())
    return proto


class _Graph:
    """Nodes and constants of a graph that is being made; numbers inside have one dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        import onnx

        self.onnx = onnx
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.numbers = count()
        self.width = 0  # of what came out of the last product

    def model(self, exported: Exported) -> Any:
        """The whole model."""
        program, helper = exported.program, self.onnx.helper
        inputs, values = self.inputs(exported)
        n = program.n_inputs - program.n_direct
        direct = [self.add("Slice", values, *self.range(n, program.n_inputs))]
        inner = self.add("Slice", values, *self.range(0, n)) if program.n_direct else values
        if not exported.coders:
            inner = self.cast(inner)
        for step in program.steps:
            if not isinstance(step, Standardize):
                inner = self.cast(inner)
            elif exported.coders:  # columns are float64
                inner = self.standardized(inner, step, np.dtype(np.float64))
                continue
            inner = self.after(inner, step)
        units = self.cast(inner)
        if program.n_direct:
            units = self.add("Concat", units, self.cast(direct[0]), axis=1)
        outputs = self.product(units, Product(program.weights, program.intercept))
        proto = helper.make_model(
            helper.make_graph(
                self.nodes, "greville", inputs, self.answers(outputs, program), self.constants
            ),
            opset_imports=[helper.make_opsetid("", OPSET)],
            producer_name="greville",
            ir_version=_IR_VERSION,
        )
        helper.set_model_props(
            proto, {"target": exported.target, "inputs": "; ".join(exported.notes)}
        )
        self.onnx.checker.check_model(proto, full_check=True)
        return proto

    # Inputs

    def inputs(self, exported: Exported) -> tuple[list[Any], str]:
        """The inputs of the model, and all of their numbers side by side."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        n = exported.program.n_inputs
        if not exported.coders:
            return [helper.make_tensor_value_info("X", kinds.FLOAT, ["rows", n])], "X"
        infos, parts, late = [], [], []
        for coder in exported.coders:
            is_text = isinstance(coder, OneOf) and not coder.numeric
            width = coder.width if isinstance(coder, Numbers) else 1
            kind = kinds.STRING if is_text else kinds.DOUBLE
            infos.append(helper.make_tensor_value_info(coder.name, kind, ["rows", width]))
            part, own_late = self.coded(coder)
            parts += part
            late += own_late
        return infos, self.add("Concat", *parts, *late, axis=1)

    def coded(self, coder: Coder) -> tuple[list[str], list[str]]:
        """The numbers of a column, and those that stand behind those of all columns."""
        x = coder.name
        if isinstance(coder, Numbers):
            return [x], []
        if isinstance(coder, Days):
            return self.days(x, coder), []
        if isinstance(coder, OneOf):
            return self.one_of(x, coder)
        return self.number(x, coder), []

    def number(self, x: str, coder: Numeric) -> list[str]:
        missing = self.add("IsNaN", x)
        for gap in coder.gaps:
            missing = self.add("Or", missing, self.add("Equal", x, self.wide(gap)))
        known = self.add("Where", missing, self.wide(coder.instead), x)
        parts = [known]
        if coder.says_missing:
            parts.append(self.as_wide(missing))
        if coder.limits:
            low, high = map(self.wide, coder.limits)
            width = self.wide((coder.limits[1] - coder.limits[0]) / 3)
            zero, one = self.wide(0.0), self.wide(1.0)
            over, under = (
                self.add("Div", self.add("Max", self.add("Sub", a, b), zero), width)
                for a, b in ((known, high), (low, known))
            )
            over, under = (
                self.add("Div", part, self.add("Add", one, part)) for part in (over, under)
            )
            clipped = self.add("Max", self.add("Min", known, high), low)
            beyond = self.add("Mul", width, self.add("Sub", over, under))
            parts[0] = self.add("Add", clipped, beyond)
            sides = [
                self.as_wide(self.add("Greater", a, b)) for a, b in ((known, high), (low, known))
            ]
            sign = self.add("Sub", *sides)
            if coder.says_missing:  # a gap is on no side, whatever stands in its place
                sign = self.add("Where", missing, zero, sign)
            parts.append(sign)
        return parts

    def days(self, x: str, coder: Days) -> list[str]:
        known = self.add("Where", self.add("IsNaN", x), self.wide(coder.origin), x)
        parts = [self.add("Sub", known, self.wide(coder.origin))]
        for period in coder.periods:
            rest = self.add("Mod", known, self.wide(period), fmod=1)
            angle = self.add("Mul", rest, self.wide(2 * np.pi / period))
            quarter = self.add("Add", angle, self.wide(np.pi / 2))
            parts += [self.add("Sin", angle), self.add("Sin", quarter)]
        return parts

    def one_of(self, x: str, coder: OneOf) -> tuple[list[str], list[str]]:
        kind: Any = np.float64 if coder.numeric else object
        missing = self.add("IsNaN", x) if coder.numeric else self.add("Equal", x, self.text([""]))
        known = self.add("Equal", x, self.constant(np.array([coder.values], kind)))
        flags = [self.as_wide(known)]
        found = self.any(flags[0])
        if coder.others:
            other = self.add("Not", self.add("Or", found, missing))
            flags.append(self.as_wide(other))
            found = self.add("Or", found, other)
        late: list[str] = []
        if coder.late:
            named = self.constant(np.array([coder.late], kind))
            late.append(self.as_wide(self.add("Equal", x, named)))
        is_late = self.any(late[0]) if late else None
        if coder.late_others:
            left = found if is_late is None else self.add("Or", found, is_late)
            other = self.add("Not", self.add("Or", left, missing))
            late.append(self.as_wide(other))
            is_late = other if is_late is None else self.add("Or", is_late, other)
        if coder.late_gap:
            late.append(self.as_wide(missing))
            is_late = missing if is_late is None else self.add("Or", is_late, missing)
        if is_late is not None:  # also the most common value
            common = np.zeros((1, len(coder.values)))
            common[0, coder.common] = 1
            added = self.add("Mul", self.as_wide(is_late), self.constant(common))
            flags[0] = self.add("Max", flags[0], added)
            found = self.add("Or", found, is_late)
        if coder.gaps:
            found = self.add("Or", found, missing)
        unknown = self.as_wide(self.add("Not", found))
        for part, shares in zip((flags, late), coder.shares(), strict=True):
            if shares:
                added = self.add("Mul", unknown, self.constant(np.array([shares])))
                part[0] = self.add("Max", part[0], added)
        return flags, late

    def any(self, flags: str) -> str:
        """Whether one of the numbers of each row is not zero."""
        total = self.add("ReduceSum", flags, self.constant(np.array([1])), keepdims=1)
        return self.add("Greater", total, self.wide(0.0))

    # Steps

    def after(self, x: str, step: Step) -> str:
        """What comes out of a step."""
        if isinstance(step, Standardize):
            return self.standardized(x, step, self.dtype)
        if isinstance(step, Product):
            return self.product(x, step)
        if isinstance(step, Bend):
            return self.bent(x, step)
        if isinstance(step, Waves):
            quarter = self.add("Add", x, self.number_of(np.pi / 2))
            sines = self.add("Slice", x, *self.range(0, step.n_sines))
            return self.add("Concat", self.add("Sin", quarter), self.add("Sin", sines), axis=1)
        return self.patches(x, step)

    def standardized(self, x: str, step: Standardize, dtype: np.dtype[Any]) -> str:
        centre, unit = (self.constant(A[None].astype(dtype)) for A in (step.centre, step.unit))
        return self.add("Div", self.add("Sub", x, centre), unit)

    def product(self, x: str, step: Product) -> str:
        self.width = step.weights.shape[1]
        product = self.add("MatMul", x, self.matrix(step.weights))
        return product if step.bias is None else self.add("Add", product, self.matrix(step.bias))

    def bent(self, x: str, step: Bend) -> str:
        whole = (step.start, step.stop) == (0, self.width)
        inner = x if whole else self.add("Slice", x, *self.range(step.start, step.stop))
        if step.name == "hard-limit":
            inner = self.cast(self.add("GreaterOrEqual", inner, self.number_of(0.0)))
        elif step.name == "cos":  # many programs have no cosine of float64
            inner = self.add("Sin", self.add("Add", inner, self.number_of(np.pi / 2)))
        elif step.name != "identity":
            inner = self.add(_OPERATORS[step.name], inner)
        if step.factor != 1:
            inner = self.add("Mul", inner, self.number_of(step.factor))
        if whole:
            return inner
        before = self.add("Slice", x, *self.range(0, step.start))
        after = self.add("Slice", x, *self.range(step.stop, self.width))
        return self.add("Concat", before, inner, after, axis=1)

    def patches(self, x: str, step: PatchSteps) -> str:
        (rows, columns), n = step.sides, step.weights.shape[1]
        places = step.places.reshape(rows * columns, -1)
        # One product for all patches of an image: (images, pixels, numbers) @ (numbers, filters)
        gathered = self.add("Gather", x, self.constant(places), axis=1)
        responses = self.add("MatMul", gathered, self.matrix(step.weights))
        both = [
            self.add("Relu", self.add("Add", self.matrix(step.above), responses)),
            self.add("Relu", self.add("Sub", self.matrix(step.below), responses)),
        ]
        rectified = self.add("Concat", *both, axis=2)
        over = np.kron(step.over_rows, step.over_columns)  # (cells, pixels)
        means = self.add("MatMul", self.matrix(over), rectified)
        flat = self.add("Reshape", means, self.constant(np.array([-1, len(over) * 2 * n])))
        roots = self.add("Sqrt", self.add("Add", flat, self.number_of(step.softening)))
        centred = self.add("Sub", roots, self.matrix(step.centre[None]))
        return self.add("Div", centred, self.number_of(step.unit))

    # Outputs

    def answers(self, outputs: str, program: Program) -> list[Any]:
        """The outputs of the model."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        if program.classes is None:
            if program.flat:
                outputs = self.add("Squeeze", outputs, self.constant(np.array([1])))
            shape = ["rows"] if program.flat else ["rows", program.n_outputs]
            self.nodes.append(helper.make_node("Cast", [outputs], ["prediction"], to=kinds.FLOAT))
            return [helper.make_tensor_value_info("prediction", kinds.FLOAT, shape)]
        place = self.add("ArgMax", outputs, axis=1, keepdims=0)
        labels = _label_array(program.classes)
        label = self.constant(labels)
        self.nodes.append(helper.make_node("Gather", [label, place], ["label"], axis=0))
        top = self.add("ReduceMax", outputs, self.constant(np.array([1])), keepdims=1)
        below = self.add("Mul", self.add("Sub", outputs, top), self.number_of(program.sharpness))
        softmax = self.add("Softmax", self.add("Max", below, self.number_of(_FAR)), axis=1)
        self.nodes.append(helper.make_node("Cast", [softmax], ["probabilities"], to=kinds.FLOAT))
        kind = self.onnx.numpy_helper.from_array(labels).data_type
        shape = ["rows", program.n_outputs]
        return [
            helper.make_tensor_value_info("label", kind, ["rows"]),
            helper.make_tensor_value_info("probabilities", kinds.FLOAT, shape),
        ]

    # Nodes and constants

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The output of a new node."""
        name = f"{operator.lower()}_{next(self.numbers)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def cast(self, x: str) -> str:
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        return self.add("Cast", x, to=kind)

    def as_wide(self, x: str) -> str:
        return self.add("Cast", x, to=self.onnx.TensorProto.DOUBLE)

    def constant(self, A: Array) -> str:
        name = f"constant_{next(self.numbers)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(A), name))
        return name

    def matrix(self, A: Array) -> str:
        return self.constant(A.astype(self.dtype))

    def number_of(self, x: float) -> str:
        return self.constant(np.array(x, self.dtype))

    def wide(self, x: float) -> str:
        return self.constant(np.array(x, np.float64))

    def text(self, values: list[str]) -> str:
        return self.constant(np.array(values, object))

    def range(self, start: int, stop: int) -> tuple[str, str, str]:
        """The arguments of a slice of columns."""
        first, last, axis = (self.constant(np.array([i])) for i in (start, stop, 1))
        return first, last, axis


def _label_array(classes: Array) -> Array:
    """The labels in a type that ONNX has."""
    if classes.dtype.kind in "US" or classes.dtype == object or classes.dtype.kind == "T":
        return np.array([str(label) for label in classes.tolist()], object)
    return classes
