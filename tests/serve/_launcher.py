"""Starts servers in a tenth of a second: a process that has imported all of it, and forks.

Each line of standard input has the arguments of ``greville serve`` and a file for what it says; the
answer is the process id.
"""

import json
import os
import signal
import sys

from greville.cli._app import app
from greville.serve.kernels import load_kernels
from tests import children


def serve(arguments, said):
    """Run the command in this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    app(["serve", *arguments], standalone_mode=False)


def main():
    load_kernels()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        arguments, said = json.loads(line)
        print(children.fork(lambda arguments=arguments, said=said: serve(arguments, said)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
