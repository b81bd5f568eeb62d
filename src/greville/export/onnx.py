"""Models in the format of ONNX, which runs in many programs and on many devices."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from ..backend import Array
from ..layers import KERNELS, MiniRocketLayer, PatchSteps
from .columns import ColumnCode, Days, Numbers, Numeric, OneOf
from .program import Bend, Product, Program, Step, program_of, write_file

# The version of ONNX's operators, the first that compares text, and the format that goes with it.
OPSET, _IR_VERSION = 19, 9

# No class is less likely than exp(-50) times the most likely one, as in `predict_proba`.
_FAR = -50.0


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
    proto = _Graph(np.dtype(precision)).model(program_of(model))
    write_file(path, proto.SerializeToString())
    return proto


class _Graph:
    """Nodes and constants of a graph that is being made; numbers inside have one dtype.

    What is no name of a node's output is a constant.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        import onnx

        self.onnx = onnx
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.names = count()
        self.width = 0  # of what came out of the last product

    def model(self, program: Program) -> Any:
        """The whole model."""
        helper, parts, n = self.onnx.helper, program.parts, program.n_inner
        infos, values = self.inputs(program)
        wide = np.dtype(np.float64) if program.columns else self.dtype
        values = self.cast(values, wide)
        x = self.columns_of(values, 0, n) if parts.n_direct else values
        if parts.unit is not None:
            centre = 0 if parts.centre is None else parts.centre
            x = self.add("Sub", x, np.asarray(centre, wide))
            x = self.add("Div", x, parts.unit.astype(wide))
        x = self.cast(x, self.dtype)
        for step in program.steps:
            x = self.after(x, step)
        if parts.n_direct:
            direct = self.columns_of(values, n, parts.n_inputs)
            x = self.add("Concat", x, self.cast(direct, self.dtype), axis=1)
        outputs = self.product(x, Product(parts.weights, parts.intercept))
        proto = helper.make_model(
            helper.make_graph(
                self.nodes, "greville", infos, self.answers(outputs, program), self.constants
            ),
            opset_imports=[helper.make_opsetid("", OPSET)],
            producer_name="greville",
            ir_version=_IR_VERSION,
        )
        properties = {"target": program.target, "inputs": "; ".join(program.notes)}
        helper.set_model_props(proto, properties)
        self.onnx.checker.check_model(proto, full_check=True)
        return proto

    # Inputs

    def inputs(self, program: Program) -> tuple[list[Any], str]:
        """The inputs of the model, and all of their numbers side by side."""
        info, kinds = self.onnx.helper.make_tensor_value_info, self.onnx.TensorProto
        if not program.columns:
            return [info("X", kinds.FLOAT, ["rows", program.parts.n_inputs])], "X"
        infos, numbers = [], []
        for column in program.columns:
            is_text = isinstance(column, OneOf) and not column.numeric
            width = len(column.places) if isinstance(column, Numbers) else 1
            kind = kinds.STRING if is_text else kinds.DOUBLE
            infos.append(info(column.name, kind, ["rows", width]))
            numbers += self.coded(column)
        places = np.concatenate([column.places for column in program.columns])
        together = self.add("Concat", *numbers, axis=1)
        return infos, self.add("Gather", together, np.argsort(places), axis=1)

    def coded(self, column: ColumnCode) -> list[str]:
        """Names of the nodes that hold the numbers of a column."""
        if isinstance(column, Numbers):
            return [column.name]
        if isinstance(column, Days):
            return self.days(column)
        return [self.one_of(column)] if isinstance(column, OneOf) else self.number(column)

    def number(self, column: Numeric) -> list[str]:
        x = column.name
        missing = self.add("IsNaN", x)
        for gap in column.gaps:
            missing = self.add("Or", missing, self.add("Equal", x, np.array(gap)))
        if column.limits:
            low, high = map(np.array, column.limits)
            far = self.add("Or", self.add("Less", x, low), self.add("Greater", x, high))
            missing = self.add("Or", missing, far)
        filled = self.add("Where", missing, np.array(column.instead), x)
        return [filled] + [self.cast(missing, np.float64)] * column.says_missing

    def days(self, column: Days) -> list[str]:
        x, origin = column.name, np.array(column.origin)
        filled = self.add("Where", self.add("IsNaN", x), origin, x)
        numbers = [self.add("Sub", filled, origin)]
        for period in column.periods:
            angle = self.add("Mod", filled, np.array(period), fmod=1)
            angle = self.add("Mul", angle, np.array(2 * np.pi / period))
            numbers += [self.add("Sin", angle), self.cosine(angle, np.float64)]
        return numbers

    def one_of(self, column: OneOf) -> str:
        x, kind = column.name, np.dtype(float if column.numeric else object)
        missing = self.add("IsNaN", x) if column.numeric else self.add("Equal", x, _texts([""]))
        flags = self.cast(self.add("Equal", x, np.array([column.values], kind)), np.float64)
        others = self.add("ReduceMax", flags, np.array([1]), keepdims=1)
        others = self.add("Sub", np.array(0.5), others)  # more than a flag of zero, less than one
        row = self.add("Concat", flags, others, self.cast(missing, np.float64), axis=1)
        place = self.add("ArgMax", row, axis=1, keepdims=0)
        codes = column.codes.astype(np.float32)  # half the space, for a few tables of many values
        return self.cast(self.add("Gather", codes, place, axis=0), np.float64)

    # Steps

    def after(self, x: str, step: Step) -> str:
        """Write a step; return the name of its output."""
        if isinstance(step, Product):
            return self.product(x, step)
        if isinstance(step, Bend):
            return self.bent(x, step)
        return self.patches(x, step) if isinstance(step, PatchSteps) else self.rocket(x, step)

    def product(self, x: str, step: Product) -> str:
        self.width = step.weights.shape[1]
        product = self.add("MatMul", x, self.real(step.weights))
        return product if step.bias is None else self.add("Add", product, self.real(step.bias))

    def bent(self, x: str, step: Bend) -> str:
        whole = (step.start, step.stop) == (0, self.width)
        inner = x if whole else self.columns_of(x, step.start, step.stop)
        if step.name == "hard-limit":
            inner = self.cast(self.add("GreaterOrEqual", inner, self.real(0)), self.dtype)
        elif step.name == "cos":
            inner = self.cosine(inner, self.dtype)
        elif step.name != "identity":
            inner = self.add(step.name.capitalize(), inner)
        if step.factor != 1:
            inner = self.add("Mul", inner, self.real(step.factor))
        if whole:
            return inner
        before = self.columns_of(x, 0, step.start)
        return self.add("Concat", before, inner, self.columns_of(x, step.stop, self.width), axis=1)

    def cosine(self, x: str, dtype: Any) -> str:
        """Write a cosine as a shifted sine, since many programs have no cosine of float64."""
        return self.add("Sin", self.add("Add", x, np.array(np.pi / 2, dtype)))

    def patches(self, x: str, step: PatchSteps) -> str:
        (rows, columns), n = step.sides, step.weights.shape[1]
        places = step.places.reshape(rows * columns, -1)
        # One product for all patches of an image: (images, pixels, numbers) @ (numbers, filters)
        gathered = self.add("Gather", x, places, axis=1)
        responses = self.add("MatMul", gathered, self.real(step.weights))
        both = [
            self.add("Relu", self.add("Add", self.real(step.above), responses)),
            self.add("Relu", self.add("Sub", self.real(step.below), responses)),
        ]
        rectified = self.add("Concat", *both, axis=2)
        over = np.kron(step.over_rows, step.over_columns)  # (cells, pixels)
        means = self.add("MatMul", self.real(over), rectified)
        flat = self.add("Reshape", means, np.array([-1, len(over) * 2 * n]))
        roots = self.add("Sqrt", self.add("Add", flat, self.real(step.softening)))
        return self.add("Div", self.add("Sub", roots, self.real(step.centre)), self.real(step.unit))

    def rocket(self, x: str, layer: MiniRocketLayer) -> str:
        """Write MiniRocket's proportions, with sums in the order of the layer's own."""
        channels, length = layer.n_channels_, layer.length
        x = self.add("Reshape", x, np.array([0, channels, -1]))
        x = self.cast(x, np.float64)
        x = self.add("Sub", x, layer.centre_[:, None])
        x = self.cast(self.add("Div", x, layer.unit_[:, None]), np.float32)
        missing = length - layer.n_features_in_ // channels
        x = self.add("Pad", x, np.array([0, 0, 0, 0, 0, missing]))
        triple, features, at = self.add("Mul", x, np.float32(3)), [], 0
        for j, (d, size) in enumerate(zip(layer.dilations_, layer.n_biases_, strict=True)):
            seen = layer.channels_[j * len(KERNELS) : (j + 1) * len(KERNELS)]
            response = self.responses(x, triple, int(d), length, seen)
            bias = layer.bias_[at : at + len(KERNELS) * size].reshape(len(KERNELS), size, 1)
            above = self.add("Greater", self.add("Unsqueeze", response, np.array([2])), bias)
            edge = 4 * d * ((j + np.arange(len(KERNELS))) % 2)[:, None]
            inside = (np.arange(length) >= edge) & (np.arange(length) < length - edge)
            above = self.add("And", above, inside[:, None])
            counts = self.add("ReduceSum", self.cast(above, np.float32), np.array([3]), keepdims=0)
            n = inside.sum(axis=1, keepdims=True).astype(np.float32)
            shares = self.add("Div", counts, n)
            features.append(self.add("Reshape", shares, np.array([0, len(KERNELS) * size])))
            at += len(KERNELS) * size
        H = self.add("Sub", self.add("Concat", *features, axis=1), layer.mean_.astype(np.float32))
        return self.cast(self.add("Div", H, layer.spread_.astype(np.float32)), self.dtype)

    def responses(self, x: str, triple: str, d: int, length: int, seen: Array) -> str:
        """The sums of all kernels at all times, over the channels that each sees."""
        edges, total = np.array([0, 0, 4 * d, 0, 0, 4 * d]), ""
        padded, more = (self.add("Pad", each, edges) for each in (x, triple))
        starts = [(np.array([g * d]), np.array([g * d + length]), np.array([2])) for g in range(9)]
        for c in range(seen.shape[1]):
            one, three = (
                self.add("Gather", each, np.array([c]), axis=1) for each in (padded, more)
            )
            sums = self.add("Slice", one, *starts[0])
            for start in starts[1:]:
                sums = self.add("Add", sums, self.add("Slice", one, *start))
            sums = self.add("Neg", sums)
            shifted = self.add("Concat", *(self.add("Slice", three, *s) for s in starts), axis=1)
            for places in KERNELS.T:
                sums = self.add("Add", sums, self.add("Gather", shifted, places, axis=1))
            if not seen[:, c].all():
                sums = self.add("Where", seen[:, c : c + 1], sums, np.float32(0))
            total = self.add("Add", total, sums) if total else sums
        return total

    # Outputs

    def answers(self, outputs: str, program: Program) -> list[Any]:
        """The outputs of the model."""
        info, kinds = self.onnx.helper.make_tensor_value_info, self.onnx.TensorProto
        parts, shape = program.parts, ["rows", program.n_outputs]
        if parts.classes is None:
            if parts.flat:
                outputs, shape = self.add("Squeeze", outputs, np.array([1])), ["rows"]
            self.cast(outputs, np.float32, "prediction")
            return [info("prediction", kinds.FLOAT, shape)]
        labels = parts.classes
        if labels.dtype.kind not in "biuf":
            labels = _texts(labels.tolist())
        place = self.add("ArgMax", outputs, axis=1, keepdims=0)
        self.add("Gather", labels, place, axis=0, name="label")
        top = self.add("ReduceMax", outputs, np.array([1]), keepdims=1)
        below = self.add("Mul", self.add("Sub", outputs, top), self.real(parts.sharpness))
        softmax = self.add("Softmax", self.add("Max", below, self.real(_FAR)), axis=1)
        self.cast(softmax, np.float32, "probabilities")
        kind = self.onnx.numpy_helper.from_array(labels).data_type
        return [info("label", kind, ["rows"]), info("probabilities", kinds.FLOAT, shape)]

    # Nodes and constants

    def add(self, operator: str, *inputs: Any, name: str = "", **attributes: Any) -> str:
        """Add a node, return the name of its output; inputs are names, or arrays for constants."""
        name = name or f"{operator.lower()}_{next(self.names)}"
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return name

    def cast(self, x: str, dtype: Any, name: str = "") -> str:
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", x, name=name, to=kind)

    def constant(self, A: Any) -> str:
        name = f"constant_{next(self.names)}"
        A = np.ascontiguousarray(A) if np.ndim(A) else np.asarray(A)
        self.constants.append(self.onnx.numpy_helper.from_array(A, name))
        return name

    def real(self, A: Any) -> Array:
        return np.asarray(A, self.dtype)

    def columns_of(self, x: str, start: int, stop: int) -> str:
        return self.add("Slice", x, *(np.array([i]) for i in (start, stop, 1)))


def _texts(values: list[Any]) -> Array:
    return np.array([str(value) for value in values], object)
