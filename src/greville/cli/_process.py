"""The process of a command: its output, the signals that end it, and what it imports."""

from __future__ import annotations

import _thread
import codecs
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

EXIT_INTERRUPTED = 130
EXIT_STOPPED = 143  # as a process that SIGTERM has ended

# What asks a command to end. Windows has no SIGTERM for other processes, but Ctrl-Break.
TERMINATION = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGBREAK") if hasattr(signal, name)
)

_AGAIN = 0.05  # seconds after which a signal is repeated

# For how long threads of OpenBLAS without work spin, as a power of two of ticks of the clock. By
# default it is 26, tens of milliseconds: a third of the CPU time of a short command.
_SPIN = "16"


def make_safe_for_text() -> None:
    """Any text can be written to standard output and standard error, whatever the console.

    Windows gives pipes and files the encoding of its code page, which has no ε and no →: a program
    that reads them gets UTF-8, and lines that end as they do elsewhere. Where the encoding is
    another, characters that it lacks become escapes such as ``\\u03b5``.
    """
    for stream in (sys.stdout, sys.stderr):
        if not hasattr(stream, "reconfigure"):  # None without a console, or a test's
            continue
        if sys.platform == "win32" and not stream.isatty():
            stream.reconfigure(encoding="utf-8", newline="\n")
        if codecs.lookup(stream.encoding or "ascii").name != "utf-8":
            stream.reconfigure(errors="backslashreplace")


def is_closed_pipe(error: BaseException | None) -> bool:
    """Whether an error says that nobody reads any more, as after head."""
    if isinstance(error, OSError) and error.errno == errno.EINVAL:  # Windows has no own number
        return sys.platform == "win32" and error.filename is None
    return isinstance(error, BrokenPipeError)


def flush_output() -> None:
    """Flush standard output; text is lost if its reader has gone."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what Python still has to write


class Stop:
    """Whether a signal has asked to stop: between two steps, or at once where that does no harm."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._at_once = False

    @property
    def asked(self) -> bool:
        return self.signal is not None

    def handle(self, number: int, frame: Any) -> None:
        self.signal = number
        if self._at_once:
            _stop()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A block that a signal may end anywhere: a result is not used after a signal."""
        self._at_once = True
        try:
            if self.asked:
                _stop()
            yield
            if self.asked:  # in a destructor or in a callback of gc Python ignores exceptions
                _stop()
        finally:
            self._at_once = False

    def repeat(self) -> None:
        """Send the signal again, if it still has to end a block."""
        if self._at_once and self.signal is not None:
            signal.raise_signal(self.signal)


def _stop() -> None:
    from ..tables import Stopped

    raise Stopped


@contextmanager
def repeating(kind: type[BaseException], repeat: Callable[[], None]) -> Iterator[None]:
    """A block in which an exception of this kind is repeated where Python ignores it.

    That is inside callbacks, as of weak references and of gc, of which imports have many.
    """

    def notice(ignored: Any) -> None:
        if issubclass(ignored.exc_type, kind):
            threading.Timer(_AGAIN, repeat).start()
        else:
            before(ignored)

    before, sys.unraisablehook = sys.unraisablehook, notice
    try:
        yield
    finally:
        sys.unraisablehook = before


def interrupt() -> None:
    """Interrupt the command as Ctrl-C does. Windows would end the process at once for a `kill`."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def stopping_on(*numbers: int) -> Iterator[Stop]:
    """Listen to these signals, but not to those that the shell has had ignored."""
    from ..tables import Stopped

    stop = Stop()
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop.handle) for number in heard}
    try:
        with repeating(Stopped, stop.repeat):
            yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Deferred(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _WithoutPandas:
    """An import finder that hides pandas."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_packages() -> None:
    """Import scikit-learn and pyarrow, without pandas and without SciPy's statistics.

    Both packages import pandas where it is installed, and scikit-learn imports `scipy.stats`. That
    is more than half of the time of a short command, which reads files and never data frames.
    """
    if {"sklearn", "pandas", "scipy.stats"} & sys.modules.keys():
        return
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _SPIN)  # read when NumPy is imported
    finder, stats = _WithoutPandas(), _Deferred("scipy.stats")
    sys.meta_path.insert(0, finder)
    sys.modules[stats.__name__] = stats
    try:
        import_module("sklearn.base")
        import_module("pyarrow").array([])  # looks once whether there is a pandas
    except ModuleNotFoundError as missing:
        if missing.name != "pyarrow":  # a command that reads tables will say so
            raise
    finally:
        sys.meta_path.remove(finder)
        if sys.modules.get(stats.__name__) is stats:
            del sys.modules[stats.__name__]
