"""`python -m benchmarks [CASE ...]`: without names, the cases of speed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from greville.paper.measure import environment

from . import (
    accuracy,
    cluster,
    device,
    drift,
    embeddings,
    exactness,
    exits,
    forecasts,
    forgetting,
    growth,
    images,
    load,
    machine,
    mnist,
    peers,
    probabilities,
    report,
    serve,
    soak,
    startup,
    streaming,
    streams,
    tables,
)
from . import speed as speed_cases

SPEED = {
    "bulk": speed_cases.bulk,
    "chunks": speed_cases.chunks,
    "single": speed_cases.single,
    "light": speed_cases.light,
    "dynamic": speed_cases.dynamic,
    "record": speed_cases.record,
    "prediction": speed_cases.prediction,
}
MORE = {"growth": growth.run, "startup": startup.run}
OTHERS: dict[str, Callable[[], Any]] = {
    "exactness": exactness.run,
    "mnist": mnist.run,
    "soak": soak.run,
    "forgetting": forgetting.run,
    "drift": drift.run,
    "forecasts": forecasts.run,
    "accuracy": accuracy.run,
    "peers": peers.run,
    "criteria": accuracy.criteria,
    "images": images.run,
    "image-settings": images.settings,
    "augmentation": images.augmentation,
    "embeddings": embeddings.run,
    "probabilities": probabilities.run,
    "tables": tables.run,
    "streaming": streaming.run,
    "streams": streams.run,
    "serve": serve.run,
    "exits": exits.run,
    "load": load.run,
    "device": device.run,
    "cluster": cluster.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = [*SPEED, *MORE, *OTHERS]
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(known))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"),
                        help="where speed.json, speed.md and speed.png go")  # fmt: skip
    parser.add_argument("--full", action="store_true",
                        help="also libraries that take many minutes")  # fmt: skip
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        print(f"no case {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    names = options.cases or [*SPEED, *MORE]
    measured = [name for name in names if name not in OTHERS]
    for name in names:
        if name in OTHERS:
            print(f"== {name}")
            OTHERS[name]()
    if measured:
        _measure(measured, options.out, options.full)
    return 0


def _measure(names: list[str], folder: Path, full: bool) -> None:
    print("== the machine", flush=True)
    limits = machine.measure()
    print(
        f"  dgemm {limits.gemm['float64'] / 1e9:.0f}, sgemm {limits.gemm['float32'] / 1e9:.0f} "
        f"GF/s; memory {limits.bandwidth / 1e9:.1f} GB/s"
    )
    comparisons: list[Any] = []
    more: dict[str, Any] = {}
    for name in names:
        print(f"== {name}", flush=True)
        if name in SPEED:
            comparisons += SPEED[name](limits, full=full)
        else:
            more[name] = MORE[name]()
        report.save(
            folder, comparisons, limits, environment(), more.get("growth"), more.get("startup")
        )


if __name__ == "__main__":
    sys.exit(main())
