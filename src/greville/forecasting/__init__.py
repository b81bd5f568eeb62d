"""Forecasting a series from its own past with models that learn online."""

from ._forecast import forecast
from ._forecaster import Forecaster
from ._result import Forecast

__all__ = ["Forecast", "Forecaster", "forecast"]
