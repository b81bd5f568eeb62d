"""Triangular roots of Gram matrices: pure functions on a backend."""

from ..backend import Array
from .basis import default_tol, extend_basis
from .gram import gram_error, gram_is_safe, smallest_safe_ridge
from .root import (
    innovation_parts,
    innovations,
    least_squares,
    leverages,
    remove_diagonal,
    remove_rows,
    ridge_by_svd,
    root_and_targets,
    signed_innovations,
    signed_is_safe,
    solve_weights,
)

__all__ = [
    "Array",
    "default_tol",
    "extend_basis",
    "gram_error",
    "gram_is_safe",
    "innovation_parts",
    "innovations",
    "least_squares",
    "leverages",
    "remove_diagonal",
    "remove_rows",
    "ridge_by_svd",
    "root_and_targets",
    "signed_innovations",
    "signed_is_safe",
    "smallest_safe_ridge",
    "solve_weights",
]
