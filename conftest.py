"""The two parts of the test suite: what `make test` runs, and the rest of `make test-all`.

The quick part covers every promise once and needs no large package. A test belongs to the rest
if it is marked as `full`, or if it stands in one of the folders below.
"""

import os
from importlib.util import find_spec

# One process per core is enough. It is read when the first library that has OpenMP is loaded,
# which for torch may be as soon as the conftest.py of a folder is.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Folders and modules that need what only `make test-all` installs, or take long
FULL = (
    "src/greville/adapters",  # river
    "src/greville/backend/torch.py",
    "src/greville/compiled/_convolutions.py",  # numba
    "src/greville/compiled/_kernels.py",
    "src/greville/compiled/_states.py",
    "src/greville/dask",
    "src/greville/export/onnx.py",
    "src/greville/mlflow.py",
    "src/greville/paper",  # examples that run experiments
    "tests/adapters",
    "tests/dask",
    "tests/devices",
    "tests/site",  # a browser
    "tests/test_examples.py",
)


# Modules whose packages are in no extra, or large: their examples run where these are installed
_NEEDS = {"aeon": "src/greville/adapters/aeon.py", "mlflow": "src/greville/mlflow.py"}
collect_ignore = [module for package, module in _NEEDS.items() if not find_spec(package)]


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        choices=["quick", "rest", "all"],
        default="all",
        help="quick: what make test runs; rest: what make test-all runs beside it",
    )


def _is_full(path, config):
    return any(path.is_relative_to(config.rootpath / name) for name in FULL)


def pytest_ignore_collect(collection_path, config):
    """Leave the packages that may be missing alone where they are not tested."""
    if config.option.part == "quick" and _is_full(collection_path, config):
        return True
    return None


def pytest_collection_modifyitems(config, items):
    """Keep the tests of the part that is run."""
    if config.option.part == "all":
        return
    quick, rest = [], []
    for item in items:
        full = item.get_closest_marker("full") or _is_full(item.path, config)
        (rest if full else quick).append(item)
    kept, others = (quick, rest) if config.option.part == "quick" else (rest, quick)
    config.hook.pytest_deselected(items=others)
    items[:] = kept
