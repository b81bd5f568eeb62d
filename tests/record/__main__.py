"""Compares what greville does with the record: ``python -m tests.record [PATTERN ...]``."""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

# Before NumPy is imported, here and in the processes that run the cases.
for _name, _value in {
    "OPENBLAS_NUM_THREADS": "1",  # more would wait for each other
    "GREVILLE_COMPILED": "0",  # as in the tests; the record holds for both
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "TZ": "UTC",
}.items():
    os.environ.setdefault(_name, _value)

# Cases that a process runs before it takes others; those of the server share one.
AT_ONCE = 8
TOGETHER = ("server",)


def main(arguments=None):
    """Compare, accept or list; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.record", description=main.__doc__)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names such as 'tables/*'")
    parser.add_argument(
        "--accept", nargs="+", metavar="PATTERN", help="store what differs in these"
    )
    parser.add_argument("--note", help="with --accept: what changed and why, for CHANGELOG.md")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    options = parser.parse_args(arguments)
    if options.accept and not (options.note and options.note.strip()):
        parser.error("--accept needs --note: what changed and why")
    if options.note and not options.accept:
        parser.error("--note is for --accept")
    if options.accept and (options.patterns or options.list):
        parser.error("--accept has its own patterns, and excludes --list")

    from . import compare, store
    from .cases import all_cases, matching

    cases, stored = all_cases(), store.read()
    asked = matching(sorted({*cases, *stored}), options.accept or options.patterns)
    if options.list:
        print("\n".join(asked))
        return 0
    if not asked:
        parser.error("no case has such a name; --list prints the names")
    found = _run([name for name in asked if name in cases], options.jobs)
    lines, changed = compare.report(stored, found, asked)
    print("\n".join(lines))
    if options.accept and changed:
        kept = {name: outcome for name, outcome in stored.items() if name not in changed}
        store.write(kept | {name: found[name] for name in changed if name in found})
        store.note(options.note.strip(), changed)
        print(f"The record has the new outcomes of {len(changed)}; CHANGELOG.md says why.")
        return 0
    return 1 if changed else 0


def _run(names, jobs):
    """The outcomes of the cases, from some processes."""
    from .cases import run

    parts, groups = [], {}
    for name in names:
        groups.setdefault(name.split("/", maxsplit=1)[0], []).append(name)
    for group in sorted(groups, key=lambda group: group not in TOGETHER):
        step = len(groups[group]) if group in TOGETHER else AT_ONCE
        parts += [groups[group][i : i + step] for i in range(0, len(groups[group]), step)]
    started, found = time.monotonic(), {}
    jobs = max(1, min(jobs, len(parts)))
    if jobs == 1:
        done = (run(part) for part in parts)
    else:
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
        done = (future.result() for future in as_completed([pool.submit(run, p) for p in parts]))
    for outcomes in done:
        found |= outcomes
        if sys.stderr.isatty():
            seconds = time.monotonic() - started
            print(f"\r{len(found)} of {len(names)} cases, {seconds:.0f} s", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
