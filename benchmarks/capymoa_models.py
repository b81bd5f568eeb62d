"""Forests of MOA, by CapyMOA, on the streams in a folder: the last line printed is JSON.

It runs in an environment of its own (``make .venv-capymoa/ready``), since CapyMOA needs an older
pandas, and Java. `benchmarks.field` calls it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np


def main(folder: Path) -> None:
    from capymoa.classifier import AdaptiveRandomForestClassifier, StreamingRandomPatches
    from capymoa.stream import NumpyStream

    kinds = {"ARF of MOA": AdaptiveRandomForestClassifier, "SRP of MOA": StreamingRandomPatches}
    found = {}
    for path in sorted(folder.glob("*.npz")):
        stream_name, seed = path.stem.split("|")
        arrays = np.load(path)
        stream = NumpyStream(arrays["X"], arrays["y"], target_type="categorical")
        for name, kind in kinds.items():
            stream.restart()
            model = kind(stream.get_schema(), random_seed=int(seed), ensemble_size=10)
            right, start = 0, time.process_time()
            while stream.has_more_instances():
                row = stream.next_instance()
                right += int(model.predict(row) == row.y_index)
                model.train(row)
            microseconds = 1e6 * (time.process_time() - start) / len(arrays["y"])
            found[f"{stream_name}|{name}|{seed}"] = 100 * right / len(arrays["y"]), microseconds
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
