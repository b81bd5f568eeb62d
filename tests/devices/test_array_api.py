"""scikit-learn's own check of tensors, for what answers with them."""

import inspect
import os
import sys

import pytest
from sklearn.utils import estimator_checks

from ..children import run

_CHECK = """
from sklearn.utils.estimator_checks import check_array_api_input
from greville import *
for model in (
    Greville(), Opium(0.1), Opium("auto", intercept=True), OpiumLight(), DynamicOpium(1.01, 0.1),
    SlidingOpium(), Batch(0.1), ELMRegressor(20, random_state=0), ELMClassifier(20, random_state=0),
):
    for dtype in ("float64", "float32"):
        check_array_api_input(
            type(model).__name__, model, array_namespace="torch", device_name="cpu",
            dtype_name=dtype, check_values=True, check_sample_weight=True,
        )
"""


def test_scikit_learns_check():
    wanted = inspect.signature(estimator_checks.check_array_api_input).parameters
    if "check_sample_weight" not in wanted:
        pytest.skip("this scikit-learn has another check")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run([sys.executable, "-W", "ignore", "-c", _CHECK], env=environment)
