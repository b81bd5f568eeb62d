"""The commands in this process, for tests."""

from inspect import signature

from typer.testing import CliRunner

from greville.cli._app import app


def invoke(arguments, stdin=None):
    """What a command printed, its stderr apart, and its exit code."""
    # click below 8.2 mixes the two unless told not to; later versions cannot be told.
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**apart).invoke(app, [str(a) for a in arguments], input=stdin)
