"""``python -m greville`` is the command."""

from .cli import main

main()
