"""Where arrays are and where models learn: NumPy's memory, or a device of PyTorch.

What is passed decides where a new model learns, and what it answers with: tensors for tensors,
NumPy for anything else. Tensors in the memory of the processor are NumPy arrays by another name and
are learned as those, without a copy. torch is imported only when a device is asked for by name.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from importlib import import_module
from textwrap import shorten
from typing import Any, NamedTuple, Self

import numpy as np

from . import backend
from .backend import Backend

# Units from which device="auto" takes a GPU. A chunk of 1000 rows takes 170 ms with 2000 units on
# two cores, and 10 ms with 4000 units on an H200; with a few hundred units either waits for Python.
UNITS_WORTH_A_GPU = 1000

# For tests on machines without a GPU: tensors in the memory of the processor are then learned by
# torch, as those on a device are.
_tensors_stay_tensors = False

# How many times as large as one block of activations X may be to be moved to a device at once.
_BLOCKS_AT_ONCE = 4


def is_tensor(A: Any) -> bool:
    """Whether an object is a tensor of PyTorch, which is not imported for this.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.devices import is_tensor
    >>> is_tensor(np.ones(3))
    False
    """
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)  # None while torch is imported
    return tensor is not None and isinstance(A, tensor)


def is_on_device(A: Any) -> bool:
    """Whether an object is a tensor that is not in the memory of the processor.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.devices import is_on_device
    >>> is_on_device(np.ones(3))
    False
    """
    return is_tensor(A) and not _is_host(A.device)


def _is_host(device: Any) -> bool:
    """Whether data at this place are learned as NumPy arrays."""
    return device.type == "cpu" and not _tensors_stay_tensors


def _names_host(device: Any) -> bool:
    """Whether a parameter names the processor."""
    return str(device).partition(":")[0] == "cpu" and not _tensors_stay_tensors


class Origin(NamedTuple):
    """The kind of array that a caller passed, which decides the kind of the answer.

    Attributes
    ----------
    device : torch.device or None
        Of a tensor; None for anything else.

    Examples
    --------
    >>> from greville.devices import Origin
    >>> Origin().is_device
    False
    >>> Origin().answer([1, 2])
    array([1, 2])
    """

    device: Any = None

    @property
    def is_device(self) -> bool:
        """Whether the input was a tensor on a device."""
        return self.device is not None and not _is_host(self.device)

    def answer(self, A: Any) -> Any:
        """Numbers as a tensor on the same device, or as a NumPy array; text always as the latter.

        Arrays in tuples are converted one by one.
        """
        if isinstance(A, tuple):
            return tuple(map(self.answer, A))
        if self.device is None:
            return on_host(A)
        if isinstance(A, np.ndarray) and A.dtype.kind not in "biufc":
            return A
        torch = sys.modules["torch"]
        if isinstance(A, np.ndarray) and not A.flags.writeable:
            A = A.copy()
        return torch.as_tensor(A, device=self.device)


def origin_of(A: Any) -> Origin:
    """Return where an array or tensor is from.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.devices import origin_of
    >>> origin_of(np.ones(3))
    Origin(device=None)
    """
    return Origin(A.device) if is_tensor(A) else Origin()


def on_host(A: Any) -> Any:
    """An array as NumPy's, without a copy where it is in the same memory; None as None.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.devices import on_host
    >>> on_host(np.arange(3))
    array([0, 1, 2])
    """
    if is_tensor(A):
        return A.detach().cpu().numpy()
    return A if A is None or isinstance(A, np.ndarray) else np.asarray(A)


def received(A: Any, name: str) -> Any:
    """Convert an argument: tensors on a device lose gradients, other tensors become arrays.

    Tensors of fewer digits than float32 become float32.

    Raises
    ------
    ValueError
        For tensors of complex numbers, and sparse ones.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.devices import received
    >>> received(np.arange(3), "X")
    array([0, 1, 2])
    """
    if not is_tensor(A):
        return A
    torch = sys.modules["torch"]
    if A.layout is not torch.strided:
        raise ValueError(f"{name}: got a sparse tensor; pass {name}.to_dense().")
    if A.is_complex():
        raise ValueError(f"{name}: got {A.dtype}; pass real numbers.")
    A = A.detach()  # no gradient is computed here
    if A.is_floating_point() and A.dtype not in (torch.float32, torch.float64):
        A = A.float()  # sums of squares need more digits than half precision has
    return A.numpy() if _is_host(A.device) else A


def received_on_host(A: Any, name: str) -> Any:
    """Convert tensors of weights or labels to NumPy arrays; other values stay as they are.

    Examples
    --------
    >>> from greville.devices import received_on_host
    >>> received_on_host(["yes", "no"], "y")
    ['yes', 'no']
    """
    A = received(A, name)
    return on_host(A) if is_tensor(A) else A


# Backends


def backend_for(device: Any, origin: Origin, n_units: int) -> Backend:
    """Return the backend on which a new model learns.

    Parameters
    ----------
    device : str or None
        The parameter: a device of torch, "auto", "cpu", or None for where the rows are.
    origin : Origin
        Of the first rows.
    n_units : int

    Raises
    ------
    ValueError
        If there is no such device, or the rows are on another.

    Examples
    --------
    >>> from greville.devices import Origin, backend_for, named
    >>> named(backend_for("cpu", Origin(), 100))
    'cpu'
    """
    if origin.is_device:
        target = None if device in (None, "auto") else _device(device)
        if target is not None and target != origin.device:
            raise ValueError(
                f"device={str(device)!r}: the rows are on {origin.device}; pass rows that are on "
                f"{target} or in NumPy arrays, or device={str(origin.device)!r}."
            )
        return _torch_backend(origin.device)
    if device is None or _names_host(device):
        return backend.default()
    if str(device) == "auto":
        gpu = _usual_gpu() if n_units >= UNITS_WORTH_A_GPU else None
        return backend.default() if gpu is None else _torch_backend(gpu)
    return _torch_backend(_device(device))


def check_device(device: Any) -> None:
    """Raise a ValueError unless `device` is None, "auto" or an available device.

    Examples
    --------
    >>> from greville.devices import check_device
    >>> check_device("cpu")
    >>> check_device("auto")
    """
    if device is not None and str(device) != "auto" and not _names_host(device):
        _device(device)


def may_be_moved(device: Any) -> bool:
    """Whether arrays may go to a device with this parameter.

    Examples
    --------
    >>> from greville.devices import may_be_moved
    >>> may_be_moved("cuda"), may_be_moved(None)
    (True, False)
    """
    return device is not None and not _names_host(device)


def float_of(A: Any) -> np.dtype[Any]:
    """NumPy's name for the dtype in which a tensor is learned."""
    return np.dtype(np.float32 if str(A.dtype) == "torch.float32" else np.float64)


def check_place(b: Backend, device: Any, origin: Origin, name: str) -> None:
    """Raise a ValueError if rows are not where a model is; NumPy may go to a named device.

    Examples
    --------
    >>> from greville.backend import default
    >>> from greville.devices import Origin, check_place
    >>> check_place(default(), None, Origin(), "X")  # NumPy rows, and a model in the same memory
    """
    mine = place_of(b)
    if origin.is_device:
        if mine is None or mine != origin.device:
            here = "in NumPy's memory" if mine is None else f"on {mine}"
            there = "cpu" if mine is None else str(mine)
            raise ValueError(
                f"{name}: it is on {origin.device}, and this model is {here}; pass "
                f"{name}.to({there!r}), or move the model: model.to({str(origin.device)!r})."
            )
    elif mine is not None and device is None and b is not backend.default():
        raise ValueError(
            f"{name}: it is not on {mine}, where this model is; pass tensors there, or say that "
            f"arrays are to be moved there: model.to({str(mine)!r}); model.to('cpu') moves the "
            "model back."
        )


def check_still_there(b: Backend, device: Any) -> None:
    """Raise a ValueError if the parameter was set to another device than that of a model.

    Examples
    --------
    >>> from greville.backend import default
    >>> from greville.devices import check_still_there
    >>> check_still_there(default(), "cpu")
    """
    mine = place_of(b)
    if device is None or str(device) == "auto":
        return
    kind, _, number = str(device).partition(":")
    same = mine is not None and kind == mine.type and number in ("", str(mine.index))
    if not same and not (mine is None and _names_host(device)):
        raise ValueError(
            f"device={str(device)!r}: this model is on {named(b)}; move it with "
            f"model.to({str(device)!r})."
        )


def check_together(A: Any, name: str, origin: Origin, of: str) -> None:
    """Raise a ValueError if two arguments are tensors on different devices.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.devices import check_together, origin_of
    >>> X, y = np.ones((3, 2)), np.ones(3)
    >>> check_together(y, "y", origin_of(X), "X")
    """
    if not is_tensor(A) or A.device == origin.device:
        return
    if is_on_device(A) or origin.device is not None:
        where = "in NumPy's memory" if origin.device is None else f"on {origin.device}"
        raise ValueError(
            f"{name}: it is on {A.device}, and {of} is {where}; pass both on one device."
        )


def fits_on_device(b: Backend, X: Any) -> bool:
    """Whether NumPy rows are best moved to the device of a backend all at once.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.backend import default
    >>> from greville.devices import fits_on_device
    >>> fits_on_device(default(), np.ones((3, 2)))
    False
    """
    if place_of(b) is None or not isinstance(X, np.ndarray):
        return False
    return X.nbytes <= _BLOCKS_AT_ONCE * b.tuning.block_bytes[1]


def place_of(b: Backend) -> Any:
    """The torch.device of a backend; None for those in the memory of the processor.

    Examples
    --------
    >>> from greville.backend import default
    >>> from greville.devices import place_of
    >>> print(place_of(default()))
    None
    """
    place = getattr(b, "device", None)
    return None if place is None or not hasattr(place, "type") or _is_host(place) else place


def named(b: Backend) -> str:
    """The name of the device of a backend.

    Examples
    --------
    >>> from greville.backend import default
    >>> from greville.devices import named
    >>> named(default())
    'cpu'
    """
    place = place_of(b)
    return "cpu" if place is None else str(place)


def _torch_backend(device: Any) -> Backend:
    return backend.get(f"torch:{device}")


def _device(name: Any) -> Any:
    """A device of torch by its name, with its number."""
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise ValueError(
            f"device={str(name)!r}: this needs torch; install it with "
            "pip install 'greville[torch]'."
        ) from error
    try:
        device = torch.device(name)
        tensor = torch.zeros(1, device=device)
        tensor.cpu()  # which not every device can do
        return tensor.device  # with its number
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        reason = shorten(str(error).strip().partition("\n")[0].partition(". ")[0], 120)
        raise ValueError(
            f"device={str(name)!r}: torch cannot use it here ({reason}); 'auto' takes a GPU where "
            "there is one, and 'cpu' is always there."
        ) from error


def _usual_gpu() -> Any:
    """Return torch's current GPU; None without torch or without a GPU."""
    try:
        torch = import_module("torch")
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    return torch.device("cuda", torch.cuda.current_device())


class Movable:
    """A model with a parameter `device`, which can be moved.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = ELMRegressor(10, random_state=0).fit(X, X[:, 0])
    >>> model.to("cpu") is model
    True
    """

    device: Any

    def to(self, device: Any) -> Self:
        """Move the model to a device; later inputs are moved there too.

        Parameters
        ----------
        device : str or torch.device
            "cpu", a device of torch such as "cuda", or "auto" for a GPU where there is one. The
            parameter `device` is set to it: rows in NumPy arrays are moved there too.

        Returns
        -------
        self
        """
        if device is None:
            raise ValueError("device=None: name one, such as 'cuda' or 'cpu'.")
        if str(device) == "auto":
            device = _usual_gpu() or "cpu"
        check_device(device)
        host = _names_host(device)
        self._move(backend.get("scipy") if host else _torch_backend(_device(device)))
        self.device = "cpu" if host else str(_device(device))
        return self

    @abstractmethod
    def _move(self, b: Backend) -> None:
        """Move the learned values to another backend."""


class Scoring:
    """`score` for models that answer with tensors.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> H = np.eye(3)
    >>> round(Opium(1e-3).fit(H, [1.0, 2.0, 3.0]).score(H, [1.0, 2.0, 3.0]), 3)
    1.0
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of a classifier; R² of a regression.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,); for a regression also (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        if not any(map(is_tensor, (X, y, sample_weight))):
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        from sklearn.base import is_classifier
        from sklearn.metrics import accuracy_score, r2_score

        metric = accuracy_score if is_classifier(self) else r2_score
        predicted = on_host(self.predict(X))  # type: ignore[attr-defined]
        y, weight = received_on_host(y, "y"), received_on_host(sample_weight, "sample_weight")
        return float(metric(y, predicted, sample_weight=weight))
