"""The commands in this process, for tests."""

from inspect import signature

from typer.testing import CliRunner

from greville.cli._app import app


def invoke(arguments, stdin=None):
    """What a command printed, its stderr apart, and its exit code."""
    # click below 8.2 mixes the two unless told not to; later versions cannot be told.
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**apart).invoke(app, [str(a) for a in arguments], input=stdin)


def run(*arguments, code=0, stdin=None):
    """stdout of a command that ends with this code, and its stderr."""
    done = invoke(arguments, stdin)
    if done.exit_code != code:
        raise AssertionError(f"{arguments} ended with {done.exit_code}: {done.output}") from (
            done.exception
        )
    assert "Traceback" not in done.output
    return done.stdout, done.stderr


def refused(*arguments, **options):
    """The sentence with which a command says that something is for the user to fix."""
    out, err = run(*arguments, code=2, **options)
    assert out == ""
    assert "\n" not in err.strip()
    return err.strip()
