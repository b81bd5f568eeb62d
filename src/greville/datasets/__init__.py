"""The signals and data sets of the paper, as arrays."""

from ._mnist import DataError, find_mnist, mnist
from ._signals import ECG_RATE, ecg, sine_switch

__all__ = ["ECG_RATE", "DataError", "ecg", "find_mnist", "mnist", "sine_switch"]
