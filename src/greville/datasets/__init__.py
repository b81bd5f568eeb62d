"""The paper's signals and data sets, as plain arrays."""

from ._mnist import DataError, mnist
from ._signals import ECG_RATE, ecg, sine_switch

__all__ = ["ECG_RATE", "DataError", "ecg", "mnist", "sine_switch"]
