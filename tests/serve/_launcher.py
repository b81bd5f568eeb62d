"""Starts servers without the seconds that imports take: a process that has imported all, and forks.

Each line that it reads has the arguments of ``greville serve`` and a file for what it says; the
answer is the process id.
"""

import json
import logging
import os
import signal
import sys
import warnings
from contextlib import suppress

from greville.cli._app import app
from greville.serve import load_kernels
from tests import children


def serve(arguments, said):
    """Run the command in this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(descriptor, number)
        setattr(sys, name, os.fdopen(number, "w", buffering=1))
    app(["serve", *arguments], standalone_mode=False)


def reap(*_):
    """Let servers that have ended go."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main(asked, answered):
    """Start servers until nobody asks any more; what pytest has set is not theirs."""
    warnings.resetwarnings()
    logging.getLogger().handlers.clear()
    load_kernels()
    signal.signal(signal.SIGCHLD, reap)
    for line in asked:
        arguments, said = json.loads(line)
        pid = children.fork(lambda arguments=arguments, said=said: serve(arguments, said))
        answered.write(f"{pid}\n")
        answered.flush()
