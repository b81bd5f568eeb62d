"""Forecasting a series while learning from it, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array
from ..elm import ELMRegressor, hidden_size
from ..solvers import Opium
from ..threads import one_thread
from ..validation import check_number, unchanged_on_error
from ._arguments import as_columns, network_solvers
from ._curve import Curve
from ._features import FeatureBuilder
from ._layer_states import LayerStates, check_layer
from ._predictors import Model, Predictions, Predictors
from ._result import Forecast
from ._season import LOOKS, RECENT_LAGS, choose_lags, find_season
from ._steps import StepErrors

# hidden="auto": the most units. On the electrocardiogram, 200 instead of 100 improve little.
_MAX_UNITS = 300

# Of the lags as they are, so many times more: where there is no noise, more units help.
_MORE_UNITS = 2

# The most steps ahead: each has a readout, a mixture and an interval of its own.
_MAX_HORIZON = 1000

# Samples that are predicted together, times the steps: what bounds the memory.
_PREDICTIONS_AT_ONCE = 1 << 20


class Forecaster:
    """Predicts a series from its own past and learns from it, piece by piece.

    At time t, with y_t seen, it predicts y_{t+1}, ..., y_{t+horizon} from y_t, earlier samples and
    the other inputs at t. The steps are the outputs of one model: a row is learned when the last of
    its targets has come, and not before. So no prediction depends on anything later than the time
    at which it was made.

    The predictors estimate the changes from y_t. Some do not learn: persistence (no change), the
    median of the last hundred samples, exponential smoothing with and without trend and season,
    and where a season was found what happened one season ago. Linear models learn from the lags,
    from the latest errors of smoothing, from differences from the last season, and on a scale like
    that of logarithms where the series is positive. Three networks have a random hidden layer: one
    that remembers everything and one that forgets, from lags relative to each other and to the
    level of the series, and a larger one from the lags as they are, for series without noise. The
    prediction is their mean, weighted for each step by their absolute errors on about the last
    hundred samples. Predicted changes are clipped to twice the largest change seen so far.

    Parameters
    ----------
    lags : int or "auto", default="auto"
        How many of the latest samples to predict from. "auto" is 10, and where the series repeats
        itself those one season before the targets. It looks for a season, and whether all samples
        are positive, after 32, 64, ... 4096 samples, in what has come by then, and learns these
        samples again if the answer is another one. With a number it looks for neither.
    horizon : int, default=1
        How many steps ahead to predict, at most 1000.
    alpha : float or "auto", default="auto"
        How fast the hidden layer forgets, as in `DynamicOpium`; 1 never does. "auto" has two, with
        1 and 1.01.
    hidden : int, transformer or "auto", default="auto"
        The hidden layer, as in `ELMRegressor`. "auto" is 10 units for every lag and input, from
        100 to 300, and twice as many, up to 300, for the lags as they are. A transformer is fitted
        to the first 100 rows; until then the networks predict no change.
    solver : str or solver object, optional
        What learns the weights of the hidden layer, instead of what `alpha` says.
    interval : float, default=0.9
        The part of the targets that should lie between `lower` and `upper`.
    layer : ReservoirLayer or LagLayer, optional
        What remembers the series; a linear model of its units, with the last sample and the other
        inputs, is one more predictor. It gets the series around the mean and in units of the
        standard deviation of the first 100 samples; until then it predicts no change.
    random_state : int, default=0
        Seeds the hidden layer, and the other layer where it has no seed of its own.

    Attributes
    ----------
    n_samples_seen_ : int
    season_ : int or None
        The number of samples after which the series repeats itself; None if none was found, or
        none looked for.

    Notes
    -----
    About 0.2 ms a sample with 10 lags and a horizon of 1, twice that for a horizon of 12, and
    more for samples passed one by one and in the first thousand samples. Memory does not grow after
    the first 4096 samples.

    Missing samples (NaN) are not learned as targets. In their place among the lags stands what was
    predicted for them, in the place of another input its last value, and more inputs say what is
    missing: the share of the lags, and each other input.

    References
    ----------
    Gibbs & Candès, "Adaptive conformal inference under distribution shift", 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.forecasting import Forecaster
    >>> series = np.sin(np.arange(300) / 5) + 0.1 * np.random.default_rng(0).normal(size=300)
    >>> model = Forecaster(lags=5)
    >>> for piece in (series[:100], series[100:]):
    ...     rows = model.update(piece)
    >>> len(rows), model.future().index
    (200, array([300]))
    """

    def __init__(
        self,
        lags: int | str = "auto",
        horizon: int = 1,
        *,
        alpha: float | str = "auto",
        hidden: Any = "auto",
        solver: Any = None,
        interval: float = 0.9,
        layer: Any = None,
        random_state: Any = 0,
    ) -> None:
        check_layer(layer)
        self._auto_lags = isinstance(lags, str) and lags == "auto"
        if isinstance(lags, str) and not self._auto_lags:
            raise ValueError(f"lags={lags!r}: pass 'auto' or a number.")
        if not self._auto_lags:
            check_number("lags", lags, low=1, whole=True)
        check_number("horizon", horizon, low=1, whole=True)
        if horizon > _MAX_HORIZON:
            raise ValueError(f"horizon={horizon!r}: pass at most {_MAX_HORIZON}.")
        check_number("interval", interval, low=0, high=1, include_low=False)
        self.lags = RECENT_LAGS if isinstance(lags, str) else int(lags)
        self.horizon, self.interval = int(horizon), float(interval)
        self.alpha, self.hidden, self.solver, self.layer = alpha, hidden, solver, layer
        self.random_state = random_state
        self.n_samples_seen_ = 0
        self.season_: int | None = None
        self._solvers = network_solvers(alpha, solver)
        self._predictors: Predictors | None = None  # until the number of inputs is known
        self._n_columns = 1
        self._curved = False  # whether the series is seen on a curve too
        self._first_samples = np.empty((0, 1))
        self._record = Predictions.nothing(self.horizon)
        self._errors = StepErrors.start(self.lags, self.horizon)

    def update(self, values: Any, inputs: Any = None) -> Forecast:
        """Learn more of the series, and return what was predicted for these samples beforehand.

        The chunk size does not change the result, apart from rounding.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            The next samples; NaN where one is missing.
        inputs : array-like of shape (n_samples, n_inputs), optional
            What else is known at the same times; NaN where missing.

        Returns
        -------
        Forecast
            A row for every sample that could be predicted, made `horizon` samples before: the
            first is number ``lags - 1 + horizon``, counted from 0.
        """
        columns = as_columns(values, inputs)
        if self._predictors is not None and columns.shape[1] != self._n_columns:
            raise ValueError(
                f"inputs: got {columns.shape[1] - 1} columns, but this forecast was started with "
                f"{self._n_columns - 1}; pass as many."
            )
        parts = [] if self._predictors is None else self._predictors.stateful_parts()
        with unchanged_on_error(self, *parts), one_thread:
            if self._predictors is None:
                self._n_columns = columns.shape[1]
                self._first_samples = columns[:0]  # in which seasons are looked for
                self._predictors = self._start(range(self.lags))
            pieces = np.split(columns, self._cuts(len(columns)))
            return Forecast.concatenated([self._advance(piece) for piece in pieces])

    def future(self) -> Forecast:
        """Predict the next samples, 1, 2, ... `horizon` steps after the last one.

        Returns
        -------
        Forecast
            A row for each step. Its targets are NaN.
        """
        h = self.horizon
        n = h if self.n_samples_seen_ >= self.lags else 0
        latest = self._record.from_time(h - 1)
        made = Predictions(np.repeat(latest.last, h), *(part[0] for part in latest[1:]))
        return self._rows(made, self.n_samples_seen_, np.full(h, np.nan), np.arange(1, h + 1))[:n]

    def errors_by_step(self) -> list[dict[str, Any]]:
        """Return the mean errors of each step ahead so far.

        Returns
        -------
        errors : list of dict
            For each step its ``step``, the number ``n`` of targets, and ``mean_absolute``, the
            mean absolute errors of "greville", "persistence", "linear" and "seasonal". The samples
            that count are those of `Forecast.summary`.
        """
        return self._errors.as_list()

    def _start(self, lags: Sequence[int]) -> Predictors:
        """Predictors that have learned nothing."""
        n_inputs = self._n_columns - 1
        curve = Curve.fitted(self._first_samples[:, 0]) if self._curved else None
        layer = None
        if self.layer is not None:
            layer = LayerStates(self.layer, 1 + n_inputs, self.random_state)
        features = FeatureBuilder(lags, self.season_, curve, self.horizon, n_inputs, layer)
        auto = isinstance(self.hidden, str) and self.hidden == "auto"
        size = hidden_size(len(lags) + n_inputs, most=_MAX_UNITS)
        hidden = size if auto else self.hidden
        networks = [self._network(hidden, solver) for solver in self._solvers]
        many = min(_MAX_UNITS, _MORE_UNITS * size) if auto else self.hidden
        raw = self._network(many, self._solvers[0])
        if not all(hasattr(network, "prequential") for network in networks):
            raise ValueError(
                f"solver={self.solver!r}: it does not learn online; pass 'opium', 'light', "
                "'dynamic', 'greville' or such an object."
            )

        def linear(inputs: str, complexity: tuple[int, int], before: str | None = None) -> Model:
            return Model(Opium(epsilon="auto", intercept=True), inputs, complexity, before)

        models = [
            linear("relative", (0, 0)),
            *([] if curve is None else [linear("bent", (0, 0), "latest")]),
            *([linear("seasonal", (0, 1), "last_season")] if self.season_ else []),
            linear("errors", (0, 2), "smoothed"),
            *(Model(each, "centred", (k, k)) for k, each in enumerate(networks, 1)),
            Model(raw, "raw", (2, 2)),
            *([] if layer is None else [linear("states", (2, 2))]),
        ]
        return Predictors(features, models, self.horizon, self.interval)

    def _network(self, hidden: Any, solver: Any) -> ELMRegressor:
        return ELMRegressor(hidden, solver, self.random_state, standardize=True)

    def _cuts(self, n: int) -> list[int]:
        """Return where to cut the next n samples: at looks for a season, and into small pieces."""
        start, most = self.n_samples_seen_, max(1, _PREDICTIONS_AT_ONCE // self.horizon)
        searches = [look - start for look in LOOKS] if self._auto_lags else []
        return sorted({cut for cut in (*searches, *range(0, n, most)) if 0 < cut < n})

    def _advance(self, columns: Array) -> Forecast:
        n, predictors = len(columns), self._predictors
        assert predictors is not None
        made = Predictions.concatenated([self._record, predictors.advance(columns)])
        self._record = made.from_time(n)
        start, self.n_samples_seen_ = self.n_samples_seen_, self.n_samples_seen_ + n
        self._errors = self._errors.then(start, columns[:, 0], made)
        if self._auto_lags and start < LOOKS[-1]:
            self._look_for_a_season(columns)
        made = Predictions(made.last[:n], *(part[:n, -1] for part in made[1:]))
        steps = np.full(n, self.horizon)
        return self._rows(made, start, columns[:, 0], steps)[max(0, self._first_index - start) :]

    @property
    def _first_index(self) -> int:
        """Index of the first sample that can be predicted `horizon` steps before."""
        return self.lags - 1 + self.horizon

    def _rows(self, made: Predictions, start: int, target: Array, step: Array) -> Forecast:
        """Predictions of the samples from `start` on."""
        return Forecast(
            index=np.arange(start, start + len(target)),
            target=target.copy(),
            prediction=made.mixed,
            lower=made.mixed - made.half_width,
            upper=made.mixed + made.half_width,
            persistence=made.last,
            seasonal=made.seasonal,
            linear=made.linear,
            lags=self.lags,
            horizon=self.horizon,
            interval=self.interval,
            step=step,
        )

    def _look_for_a_season(self, columns: Array) -> None:
        """Look for a season from time to time; after a new season, learn the whole series again.

        What was predicted before stays what it was.
        """
        self._first_samples = np.vstack([self._first_samples, columns])
        if self.n_samples_seen_ not in LOOKS:
            return
        season = find_season(self._first_samples[:, 0], self.horizon)
        curved = Curve.fitted(self._first_samples[:, 0]) is not None
        if (season, curved) != (self.season_, self._curved):
            self.season_, self._curved = season, curved
            self._predictors = self._start(choose_lags(season, self.horizon))
            again = self._predictors.advance(self._first_samples)
            latest = again.from_time(self.n_samples_seen_ - 1)
            earlier = Predictions(*(part[:-1] for part in self._record))
            self._record = Predictions.concatenated([earlier, latest])
        if self.n_samples_seen_ == LOOKS[-1]:
            self._first_samples = self._first_samples[:0]
