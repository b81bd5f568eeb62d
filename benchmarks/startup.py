"""The time that imports and the start of the command take."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .measure import seconds

SCRIPTS = {
    "import sklearn.base, scipy.linalg": ["-c", "import sklearn.base, scipy.linalg"],
    "import greville": ["-c", "import greville"],
    "from greville import ELMRegressor": ["-c", "from greville import ELMRegressor"],
    "import sklearn.linear_model": ["-c", "import sklearn.linear_model"],
    "greville --help": ["-m", "greville", "--help"],
    "greville train, a hundred rows": [
        *("-m", "greville", "train", "hundred.csv", "--target", "y", "--output", "m.greville"),
    ],
}


def run(rounds: int = 9) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        rows = np.random.default_rng(0).normal(size=(100, 6))
        path = Path(folder) / "hundred.csv"
        np.savetxt(path, rows, "%.5f", ",", header="a,b,c,d,e,y", comments="")
        return _measured(rounds, folder)


def _measured(rounds: int, folder: str) -> dict[str, Any]:
    times: dict[str, list[float]] = {name: [] for name in SCRIPTS}
    for _ in range(rounds):  # interleaved: noise affects all alike
        for name, arguments in SCRIPTS.items():
            times[name].append(seconds(lambda: _started(arguments, folder)))  # noqa: B023
    base = next(iter(SCRIPTS))
    found = {}
    for name, values in times.items():
        ratio = float(np.median(np.divide(values, times[base])))
        found[name] = {"milliseconds": 1e3 * float(np.median(values)), "ratio": ratio}
        print(f"    {name:36}{found[name]['milliseconds']:7.0f} ms   {ratio:.2f} of the first")
    return found


def _started(arguments: list[str], folder: str) -> None:
    command, nothing = [sys.executable, *arguments], subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=nothing, stderr=nothing, cwd=folder)
