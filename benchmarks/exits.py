"""Whether commands end with the right exit code, and never by a signal such as SIGSEGV.

Each case ends while files are still being read: by an error, a closed pipe, a signal, or with all
rows done. Three run at a time, so that threads are delayed.
"""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

GREVILLE = [sys.executable, "-m", "greville"]
RUNS, AT_ONCE = 200, 3
_ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def run(runs: int | None = None) -> None:
    runs = runs or int(os.environ.get("GREVILLE_EXITS", RUNS))
    with tempfile.TemporaryDirectory() as folder:
        cases = prepare(Path(folder), megabytes=60)
        for name, case, wanted in cases:
            start = time.monotonic()
            codes = exit_codes(case, runs)
            wrong = sum(n for code, n in codes.items() if code != wanted)
            print(
                f"  {name:<34} {runs} runs, {wrong} wrong: {dict(codes)} "
                f"({time.monotonic() - start:.0f} s)",
                flush=True,
            )


def exit_codes(case: Callable[[], int], runs: int) -> Counter[int]:
    """The exit codes of the runs, and how often each occurred; three run at a time."""
    with _default_signals(), ThreadPoolExecutor(AT_ONCE) as pool:
        return Counter(pool.map(lambda _: case(), range(runs)))


def prepare(folder: Path, megabytes: int) -> list[tuple[str, Callable[[], int], int]]:
    """Cases: a name, a function that runs it and returns its exit code, and the right exit code."""
    big, ragged, jsonl = folder / "big.csv.gz", folder / "ragged.csv", folder / "big.jsonl"
    small, model = folder / "small.csv", folder / "m.greville"
    lines = list(_lines(megabytes * 20_000))
    with gzip.open(big, "wt", compresslevel=1) as file:
        file.writelines(lines)
    middle = len(lines) // 6
    ragged.write_text("".join([*lines[:middle], "1,2\n", *lines[middle:]]))
    small.write_text("".join(lines[:20_000]))
    rows = [_as_json(line) for line in lines[1 : len(lines) // 4]]
    jsonl.write_text("".join([*rows[: middle // 2], '{"a": 1\n', *rows[middle // 2 :]]))
    subprocess.run(
        [*GREVILLE, "train", small, "--target", "y", "--hidden", "20", "-o", model, "-q"],
        check=True,
        env=_ENVIRONMENT,
    )
    return [
        ("train, no such target", _command("train", big, "--target", "nope"), 2),
        ("train, a ragged row", _command("train", ragged, "--target", "y", "--hidden", "20"), 2),
        ("predict into a closed pipe", _into_closed_pipe("predict", model, big), 0),
        ("score", _command("score", model, small, "--json"), 0),
        ("train, SIGTERM", _with_signal(signal.SIGTERM, big), 143),
        ("train, SIGINT", _with_signal(signal.SIGINT, big), 130),
        ("train, a broken line of JSON", _command("train", jsonl, "--target", "y"), 2),
    ]


def _lines(n: int) -> Iterator[str]:
    """A table of about 50 bytes a row."""
    yield "a,b,c,d,y\n"
    rng = np.random.default_rng(0)
    for _ in range(0, n, 10_000):
        for row in rng.normal(size=(10_000, 5)):
            yield ",".join(f"{value:.6f}" for value in row) + "\n"


def _as_json(line: str) -> str:
    names = "abcdy"
    fields = zip(names, line.split(","), strict=True)
    return "{" + ", ".join(f'"{name}": {value.strip()}' for name, value in fields) + "}\n"


def _command(*arguments: object) -> Callable[[], int]:
    def case() -> int:
        command = [*GREVILLE, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, env=_ENVIRONMENT, check=False)
        return done.returncode

    return case


def _into_closed_pipe(*arguments: object) -> Callable[[], int]:
    """Read one line of the output, then close the pipe."""

    def case() -> int:
        process = subprocess.Popen(
            [*GREVILLE, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
        )
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        return process.wait()

    return case


@contextmanager
def _default_signals() -> Iterator[None]:
    """Give child processes default signal handlers, also where this process ignores signals."""
    defaults: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    ignored = [n for n in defaults if signal.getsignal(n) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, defaults[number])
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def _with_signal(number: int, data: Path) -> Callable[[], int]:
    """Send a signal while files are read."""

    def case() -> int:
        process = subprocess.Popen(
            [*GREVILLE, "train", str(data), "--target", "y", "-o", f"{data}.greville"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
        )
        while process.poll() is None and not catches(process.pid, signal.SIGTERM):
            time.sleep(0.02)
        time.sleep(0.1)
        process.send_signal(number)
        return process.wait()

    return case


def catches(pid: int, number: int) -> bool:
    """Whether a process has installed a handler for a signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
