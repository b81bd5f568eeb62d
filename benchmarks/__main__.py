"""`python -m benchmarks [CASE ...]`: without names, the cases of speed."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

# Where the function of each case is. Its module is imported when it runs: some need libraries that
# the others do not.
SPEED = {
    "bulk": "speed.bulk",
    "chunks": "speed.chunks",
    "single": "speed.single",
    "light": "speed.light",
    "dynamic": "speed.dynamic",
    "record": "speed.record",
    "prediction": "speed.prediction",
}
MORE = {"growth": "growth.run", "startup": "startup.run"}
OTHERS = {
    "quick": "quick.run",
    "exactness": "exactness.run",
    "mnist": "mnist.run",
    "soak": "soak.run",
    "forgetting": "forgetting.run",
    "drift": "drift.run",
    "forecasts": "forecasts.run",
    "accuracy": "accuracy.run",
    "peers": "peers.run",
    "criteria": "accuracy.criteria",
    "importance": "importance.run",
    "images": "images.run",
    "image-settings": "images.settings",
    "augmentation": "images.augmentation",
    "embeddings": "embeddings.run",
    "series": "series.run",
    "many-series": "series.many",
    "reservoirs": "reservoirs.run",
    "kernel-filters": "reservoirs.kernels",
    "probabilities": "probabilities.run",
    "tables": "tables.run",
    "streaming": "streaming.run",
    "streams": "streams.run",
    "field": "field.run",
    "serve": "serve.run",
    "exits": "exits.run",
    "load": "load.run",
    "device": "device.run",
    "cluster": "cluster.run",
}
CASES = {**SPEED, **MORE, **OTHERS}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"),
                        help="where speed.json, speed.md, speed.png and quick.json go")  # fmt: skip
    parser.add_argument("--full", action="store_true",
                        help="also libraries that take many minutes")  # fmt: skip
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        print(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    names = options.cases or [*SPEED, *MORE]
    measured = [name for name in names if name not in OTHERS]
    for name in names:
        if name in OTHERS:
            print(f"== {name}")
            _function(name)(*([options.out] if name in ("quick", "field") else []))
    if measured:
        _measure(measured, options.out, options.full)
    return 0


def _function(case: str) -> Any:
    module, name = CASES[case].split(".")
    return getattr(importlib.import_module(f"{__package__}.{module}"), name)


def _measure(names: list[str], folder: Path, full: bool) -> None:
    from greville.paper.measure import environment

    from . import machine, report

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
            comparisons += _function(name)(limits, full=full)
        else:
            more[name] = _function(name)()
        report.save(
            folder, comparisons, limits, environment(), more.get("growth"), more.get("startup")
        )


if __name__ == "__main__":
    sys.exit(main())
