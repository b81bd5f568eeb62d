"""Models that learn from Dask arrays and data frames: the same model as on one machine."""

from __future__ import annotations

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "greville.dask needs Dask and its scheduler: pip install 'greville[dask]'."
    ) from error

from .wrapper import ELMClassifier, ELMRegressor, Greville, Opium

__all__ = ["ELMClassifier", "ELMRegressor", "Greville", "Opium"]
