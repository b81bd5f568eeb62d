"""Processes that tests start. They have the signals of a shell's foreground, and a time limit.

A suite that is started in the background or by nohup ignores SIGINT, and so would its children.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import pytest

LIMIT = 120  # seconds; for what hangs, not for what is slow

GREVILLE = [sys.executable, "-m", "greville"]

_DEFAULT = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


def listen():
    """Set what Python has by default, where signals are ignored; return what there was."""
    return {
        number: signal.signal(number, handler)
        for number, handler in _DEFAULT.items()
        if signal.getsignal(number) is signal.SIG_IGN
    }


@contextmanager
def _listening():
    """A program that is started inside has the default signals, whatever this process has."""
    before = listen()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(command, *, check=True, limit=LIMIT, **options):
    """`subprocess.run`; a program that takes longer is killed, and the test fails."""
    with _listening():
        return subprocess.run(command, check=check, timeout=limit, **options)


@contextmanager
def started(command, *, limit=LIMIT, **options):
    """`subprocess.Popen`; at the limit it is killed, so that reading from it ends too."""
    with _listening():
        process = subprocess.Popen(command, **options)
    timer = threading.Timer(limit, process.kill)
    timer.daemon = True
    timer.start()
    try:
        with process:  # which closes its pipes and waits for it
            try:
                yield process
            except BaseException:
                process.kill()
                raise
    finally:
        timer.cancel()


def fork(work):
    """A child that does the work, without the seconds that imports take; its process id.

    A test that needs one is skipped where there are none.
    """
    if not hasattr(os, "fork"):
        pytest.skip("Windows has no fork")
    with warnings.catch_warnings():
        # Python 3.12 warns that other threads may hold locks; BLAS and Arrow take care of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        listen()
        work()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def exit_code(child, limit=LIMIT):
    """The exit code of a forked child; at the limit it is killed, and the code is -9."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked(work, limit=LIMIT):
    """The exit code of a child that does the work."""
    return exit_code(fork(work), limit)
