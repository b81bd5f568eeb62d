"""The time that imports and the start of the command take."""

from __future__ import annotations

import subprocess
import sys
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
}


def run(rounds: int = 9) -> dict[str, Any]:
    times: dict[str, list[float]] = {name: [] for name in SCRIPTS}
    for _ in range(rounds):  # interleaved: noise affects all alike
        for name, arguments in SCRIPTS.items():
            times[name].append(seconds(lambda: _started(arguments)))  # noqa: B023
    base = next(iter(SCRIPTS))
    found = {}
    for name, values in times.items():
        ratio = float(np.median(np.divide(values, times[base])))
        found[name] = {"milliseconds": 1e3 * float(np.median(values)), "ratio": ratio}
        print(f"    {name:36}{found[name]['milliseconds']:7.0f} ms   {ratio:.2f} of the first")
    return found


def _started(arguments: list[str]) -> None:
    command, here = [sys.executable, *arguments], Path(__file__).parent
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=here)
