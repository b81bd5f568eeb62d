"""Models in MLflow: `save_model`, `log_model`, `load_model`, and MLflow's own ``pyfunc``.

``pip install 'greville[mlflow]'``. What MLflow keeps is a file of `greville.save`: nothing is
pickled, and nothing in it is executed when it is loaded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

try:
    import mlflow.artifacts
    import mlflow.models
    import mlflow.pyfunc
    from mlflow.types.schema import AnyType, ColSpec, Schema, TensorSpec
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "greville.mlflow needs MLflow: pip install 'greville[mlflow]'."
    ) from error

from . import __version__, load, save
from .tables import TableModel

FLAVOR_NAME = "greville"

_FILE = "model.greville"

__all__ = ["load_model", "log_model", "save_model"]


def save_model(
    model: Any,
    path: str | Path,
    *,
    signature: Any = None,
    pyfunc_predict_fn: str = "predict",
    pip_requirements: list[str] | None = None,
    mlflow_model: Any = None,
    **options: Any,
) -> None:
    """Save a fitted model as a folder that MLflow reads.

    Parameters
    ----------
    model : object
        An estimator or a `TableModel`; what `greville.save` takes and has `predict`.
    path : path
        A folder that does not exist, or is empty.
    signature : mlflow.models.ModelSignature, optional
        Columns and types; by default those of the ``input_example``, or without one the columns
        that the model has learned from, of any type.
    pyfunc_predict_fn : {"predict", "predict_proba"}
        What ``predict`` of ``mlflow.pyfunc`` calls.
    pip_requirements : list of str, optional
        What a server of MLflow installs; by default this version of greville.
    mlflow_model : mlflow.models.Model, optional
        The description that is completed.
    **options
        Passed on to `mlflow.pyfunc.save_model`: ``input_example``, ``metadata``, ``code_paths``.
    """
    if not callable(getattr(model, pyfunc_predict_fn, None)):
        raise TypeError(f"model={type(model).__name__}: it has no {pyfunc_predict_fn}.")
    described = mlflow.models.Model() if mlflow_model is None else mlflow_model
    described.add_flavor(FLAVOR_NAME, greville_version=__version__, data=f"data/{_FILE}")
    if signature is None:
        signature = _signature(model, options.get("input_example"), pyfunc_predict_fn)
    with TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        save(model, file)
        mlflow.pyfunc.save_model(
            path,
            loader_module=__name__,
            data_path=str(file),
            mlflow_model=described,
            signature=signature,
            model_config={"predict_fn": pyfunc_predict_fn},
            pip_requirements=pip_requirements or [f"greville[tables]=={__version__}"],
            **options,
        )


def log_model(model: Any, name: str = "model", **options: Any) -> Any:
    """Save a fitted model in the run of MLflow that is active, or in a new one.

    Parameters
    ----------
    model : object
        As `save_model` takes it.
    name : str
        What MLflow calls it.
    **options
        Passed on to `save_model`, or to `mlflow.models.Model.log`: ``registered_model_name``,
        ``params``, ``tags``.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    flavor = sys.modules[__name__]
    return mlflow.models.Model.log(None, flavor, name=name, model=model, **options)


def load_model(model_uri: str) -> Any:
    """The model that was saved, which goes on learning.

    Parameters
    ----------
    model_uri : str
        A folder, or an address of MLflow such as ``models:/name/1``.
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    described = mlflow.models.Model.load(str(folder))
    return load(folder / described.flavors[FLAVOR_NAME]["data"])


class _Pyfunc:
    """A model as MLflow calls it."""

    def __init__(self, model: Any, predict_fn: str = "predict") -> None:
        self._model, self._predict_fn = model, predict_fn

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Predictions for a frame or an array."""
        return getattr(self._model, self._predict_fn)(model_input)


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> _Pyfunc:
    """Load a model, as MLflow's ``pyfunc`` asks for."""
    return _Pyfunc(load(path), **(model_config or {}))


def _signature(model: Any, example: Any, predict_fn: str) -> Any:
    """Make the signature of a model: its inputs and outputs."""
    if example is not None:
        return mlflow.models.infer_signature(example, getattr(model, predict_fn)(example))
    names = _columns(model)
    if names is None:
        tensor = TensorSpec(np.dtype(np.float64), (-1, int(model.n_features_in_)))
        return mlflow.models.ModelSignature(Schema([tensor]))
    columns = [ColSpec(AnyType(), str(name)) for name in names]
    return mlflow.models.ModelSignature(Schema(columns))


def _columns(model: Any) -> Any:
    """The names of the columns that a model has learned from; None if they have none."""
    if isinstance(model, TableModel):
        return model.settle().schema.names
    return getattr(model, "feature_names_in_", None)
