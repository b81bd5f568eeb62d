"""`make test KERNEL=Haswell` runs the numerics on the kernels of another processor."""

import os

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its BLAS is another one
from threadpoolctl import threadpool_info

# Names under which OpenBLAS shows the kernels it has for older processors.
OTHER_NAMES = {"prescott": "katmai"}


@pytest.mark.skipif("OPENBLAS_CORETYPE" not in os.environ, reason="no KERNEL was asked for")
def test_the_kernels_are_those_asked_for():
    """OpenBLAS takes its own choice where it does not know the name."""
    asked = os.environ["OPENBLAS_CORETYPE"].lower()
    np.ones((2, 2)) @ np.ones((2, 2))
    found = {pool["architecture"].lower() for pool in threadpool_info() if "architecture" in pool}
    assert found <= {asked, OTHER_NAMES.get(asked)}
    assert found
