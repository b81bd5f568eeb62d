"""These tests run on both backends, unless they are marked as tuned."""

from ..backends import backend, pytest_generate_tests  # noqa: F401
from ..kernels import both, plain  # noqa: F401
