"""The backends that tests run on: the tuned one, the plain one on a strict array API, and torch.

A test runs on the tuned backend. One that is marked as `everywhere` runs on the others in
`make test-all`, its cases by turns: torch's backend is the plain one with a few operations of its
own, so what one of them computes rightly the other seldom does not. Without `--part`, and so in
`make fuzz`, all cases run on all; with GREVILLE_DEVICE=cuda they run on that device alone.
"""

import os
from importlib.util import find_spec
from zlib import crc32

import pytest

from greville import backend as backends
from greville.backend import Backend


def _strict():
    """It refuses whatever the standard does not promise."""
    import array_api_strict

    return Backend(array_api_strict, "strict")


backends.register("strict", _strict)

DEVICE = os.environ.get("GREVILLE_DEVICE")
TUNED = f"torch:{DEVICE}" if DEVICE else "scipy"
OTHERS = {"strict": "array_api_strict", "torch:cpu": "torch"}


def _others():
    if DEVICE:
        return
    for name, package in OTHERS.items():
        missing = pytest.mark.skipif(not find_spec(package), reason=f"{package} is not installed")
        yield pytest.param(name, marks=[pytest.mark.full, missing])


EVERYWHERE = [TUNED, *_others()]


def pytest_generate_tests(metafunc):
    """Run a test on the tuned backend, and on all if it is marked as `everywhere`."""
    if "backend" not in metafunc.fixturenames:
        return
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    everywhere = "everywhere" in marks
    names = EVERYWHERE if everywhere else [TUNED]
    if DEVICE and ("host" in marks or not everywhere):
        names = []
    metafunc.parametrize("backend", names, indirect=True)


def others_turn(items):
    """Tests on another backend whose turn it is not: of each case, all but one are left out.

    The order of the turns has nothing to do with that of the cases, in which dtypes may alternate.
    A test that has one case runs on all.
    """
    installed = [name for name, package in OTHERS.items() if find_spec(package)]
    tests = {}
    for item in items:
        callspec = getattr(item, "callspec", None)
        name = callspec.params.get("backend") if callspec else None
        if name in installed:
            cases = tests.setdefault((item.path, item.cls, item.originalname), {})
            cases.setdefault(callspec.id.replace(name, "", 1), {})[name] = item
    left_out = set()
    for cases in tests.values():
        ordered = sorted(cases, key=lambda case: (crc32(case.encode()), case))
        for i, case in enumerate(ordered if len(ordered) > 1 else ()):
            turn = installed[i % len(installed)]
            if turn in cases[case]:
                left_out.update(item for name, item in cases[case].items() if name != turn)
    return left_out


@pytest.fixture
def on_device(request):
    """With GREVILLE_DEVICE, have models start there."""
    if DEVICE and request.node.get_closest_marker("host"):
        pytest.skip("not on a device")
    with backends.use(TUNED):
        yield


@pytest.fixture(autouse=True)
def backend(request):
    """The backend on which models of the test start."""
    with backends.use(request.param) as chosen:
        yield chosen
