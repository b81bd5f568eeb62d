"""A series predicted from its own past, by models that learn from it on the way."""

from ._forecast import Forecast
from ._forecaster import Forecaster, forecast

__all__ = ["Forecast", "Forecaster", "forecast"]
