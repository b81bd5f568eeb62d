"""Run all cases, or those named on the command line."""

from __future__ import annotations

import sys

from . import accuracy, drift, exactness, forgetting, mnist, soak, stream

CASES = {
    "stream": stream.run,
    "exactness": exactness.run,
    "mnist": mnist.run,
    "soak": soak.run,
    "forgetting": forgetting.run,
    "drift": drift.run,
    "accuracy": accuracy.run,
    "criteria": accuracy.criteria,
    "augmentation": accuracy.augmentation,
}


def main() -> int:
    names = sys.argv[1:] or list(CASES)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"== {name}")
        CASES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
