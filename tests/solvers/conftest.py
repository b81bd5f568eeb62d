"""These tests run on the tuned backend, and on all if they are marked as everywhere."""

from ..backends import backend, pytest_generate_tests  # noqa: F401
from ..kernels import both, plain  # noqa: F401
