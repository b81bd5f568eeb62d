"""Classification and regression of time series: features of series, and exact output weights."""

from __future__ import annotations

from typing import Any, Literal, Self

from sklearn.base import clone

from ..devices import is_tensor
from ..layers import MiniRocketLayer, series_rows
from ..solvers import Solver
from ..validation import Seed
from ._stored import CLASS_WEIGHT, stored_estimator
from .capabilities import solver_is_online
from .classifier import ELMClassifier
from .estimator import ELM, Transformer
from .labels import LabelTargets
from .regressor import ELMRegressor
from .targets import NumericTargets

# The layers that have a name.
LAYERS: dict[str, Any] = {"minirocket": MiniRocketLayer}


class TimeSeries(ELM):
    """Base of models of time series, whose layer takes whole series."""

    standardize: Literal["auto"] = "auto"
    n_channels_: int

    def __init__(
        self,
        layer: str | Transformer = "minirocket",
        solver: str | Solver = "opium",
        random_state: Seed = None,
        *,
        device: str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.layer = layer
        self.solver = solver
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    @property
    def hidden(self) -> Any:  # type: ignore[override]
        """The layer, for series of as many channels as the first rows have."""
        layer: Any = self.layer
        n = getattr(self, "n_channels_", None)
        if isinstance(layer, str) and layer in LAYERS:
            layer = LAYERS[layer]()
        elif isinstance(layer, type) or not hasattr(layer, "transform"):
            names = ", ".join(map(repr, LAYERS))
            raise ValueError(f"layer={layer!r}: pass one of {names}, or a transformer object.")
        if n is None or "n_channels" not in layer.get_params():
            return layer
        return clone(layer).set_params(n_channels=n)

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        own = getattr(self.layer, "n_channels", None)
        X, n_channels = series_rows(X, own if reset else self.n_channels_)
        if reset:
            self.n_channels_ = n_channels
        try:
            return super()._checked_rows(X, reset=reset)
        except ValueError as error:
            if "contains NaN" not in str(error):
                raise
            raise ValueError(
                "X: Input X contains NaN. A series has no gaps: fill them first, for instance "
                "from their neighbours with numpy.interp."
            ) from error

    @solver_is_online
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one series and its target.

        Parameters
        ----------
        x : array of shape (n_channels, n_timepoints) or (n_timepoints,)
        y : number or label, or array of shape (n_outputs,)

        Returns
        -------
        self
        """
        if self._fitted is None:
            return self.partial_fit(x[None], y[None] if is_tensor(y) else [y])
        return super().learn_one(self._one_row(x), y)

    def predict_one(self, x: Any) -> Any:
        """The prediction for one series.

        Parameters
        ----------
        x : array of shape (n_channels, n_timepoints) or (n_timepoints,)

        Returns
        -------
        y : number or label, or ndarray of shape (n_outputs,)
        """
        return super().predict_one(self._one_row(x))

    def _one_row(self, x: Any) -> Any:
        """A series as one row, if it has two dimensions."""
        if getattr(x, "ndim", 1) != 2 or self._fitted is None:
            return x
        return series_rows(x[None], self.n_channels_)[0][0]


@stored_estimator(LabelTargets, series=True, class_weight=CLASS_WEIGHT)
class TimeSeriesClassifier(TimeSeries, ELMClassifier):
    """Classification of time series: thousands of features of each, and an exact, online ridge.

    It is what MiniRocket's authors recommend, with a ridge that goes on learning: `partial_fit`,
    labels that come later, probabilities, `unlearn`, `merge` and memory that does not grow with the
    rows. All methods are those of `ELMClassifier`.

    Parameters
    ----------
    layer : "minirocket" or transformer, default="minirocket"
        What makes features of series: a `MiniRocketLayer`, or such a layer with other parameters,
        or any transformer of rows. It is fitted to the first series (all of `fit`, the first chunk
        of `partial_fit`) and then kept as it is.
    solver : str or solver object, default="opium"
        How the output weights are learned, as in `ELMClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seeds the layer, where it has no seed of its own.
    device : str, optional
        Where to learn what comes in NumPy arrays: "cuda", another device of torch, or "auto".
    verbose : bool or int, default=False
        Whether long work says on stderr how far it is, as in `ELMClassifier`.
    class_weight : dict, "balanced" or None, default=None
        How much rows count by their label, as in `ELMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels known so far, sorted.
    hidden_ : transformer
        The fitted layer.
    solver_ : solver
        The fitted solver.
    epsilon_ : float
        The ε in use.
    n_channels_, n_features_in_, n_samples_seen_ : int
        A series has `n_features_in_` numbers in all.

    Notes
    -----
    Wherever rows of shape (n_samples, n_features) are expected, X may also have the shape
    (n_cases, n_channels, n_timepoints), as in aeon and sktime. A 2-d X has series of one channel,
    or of as many as were there before, one channel after the other. All series have one length.

    Fewer series than units are learned in a memory of series x units, more in units².

    References
    ----------
    Dempster, Schmidt & Webb, "MiniRocket: a very fast (almost) deterministic transform for time
    series classification", KDD 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import TimeSeriesClassifier
    >>> rng, t = np.random.default_rng(0), np.arange(60)
    >>> y = rng.integers(2, size=100)
    >>> X = np.sin(t / np.where(y, 4, 5)[:, None] + rng.uniform(0, 6, size=(100, 1)))
    >>> model = TimeSeriesClassifier(random_state=0).fit(X[:50], y[:50])
    >>> model.score(X[50:], y[50:])
    1.0
    """

    def __init__(
        self,
        layer: str | Transformer = "minirocket",
        solver: str | Solver = "opium",
        random_state: Seed = None,
        *,
        device: str | None = None,
        verbose: bool | int = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        super().__init__(layer, solver, random_state, device=device, verbose=verbose)
        self.class_weight = class_weight


@stored_estimator(NumericTargets, series=True)
class TimeSeriesRegressor(TimeSeries, ELMRegressor):
    """Numbers predicted from time series: thousands of features, and an exact, online ridge.

    `TimeSeriesClassifier` for targets that are numbers. All methods are those of `ELMRegressor`,
    standard deviations among them.

    Parameters
    ----------
    layer : "minirocket" or transformer, default="minirocket"
        What makes features of series, as in `TimeSeriesClassifier`.
    solver : str or solver object, default="opium"
        How the output weights are learned, as in `ELMRegressor`.
    random_state : int, RandomState instance or None, default=None
        Seeds the layer, where it has no seed of its own.
    device : str, optional
        Where to learn what comes in NumPy arrays: "cuda", another device of torch, or "auto".
    verbose : bool or int, default=False
        Whether long work says on stderr how far it is, as in `ELMRegressor`.

    Attributes
    ----------
    hidden_ : transformer
        The fitted layer.
    solver_ : solver
        The fitted solver.
    epsilon_ : float
        The ε in use.
    n_channels_, n_features_in_, n_samples_seen_ : int
        A series has `n_features_in_` numbers in all.

    See Also
    --------
    TimeSeriesClassifier : It also says which shapes X may have.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import TimeSeriesRegressor
    >>> rng, t = np.random.default_rng(0), np.arange(60)
    >>> y = rng.uniform(4, 8, size=200)
    >>> X = np.sin(t / y[:, None] + rng.uniform(0, 6, size=(200, 1)))
    >>> model = TimeSeriesRegressor(random_state=0).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.9)
    True
    """

    _classifier = "TimeSeriesClassifier"
