"""Every command explains itself: its help fits, has examples and no types of Python."""

import os
import re
import sys

import pytest

from greville import __version__
from greville.cli._app import COMMANDS

from .. import children
from ..children import GREVILLE
from ..runner import run

TYPES = r"<(str|int|float|path|dir|list|names)|\b(TEXT|INTEGER|FLOAT|DIRECTORY|RANGE)\b|list\["


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown, _ = run(command, "--help")
    assert run(command, "-h")[0] == shown
    assert max(map(len, shown.splitlines())) <= 80
    assert re.findall(TYPES, shown) == []
    assert "Examples:" in shown
    assert f"greville {command}" in shown


def test_the_list_of_commands_is_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    summaries = run("--help")[0].partition("Commands:")[2]
    assert "..." not in summaries  # none is cut
    assert all(re.search(rf"\b{command}\b", summaries) for command in COMMANDS)


def test_the_help_of_train_has_every_solver():
    said, _ = run("train", "--help")
    assert all(name in said for name in ("opium", "dynamic", "sliding", "light", "greville"))


def test_the_module_is_the_command():
    done = children.run([*GREVILLE, "--version"], capture_output=True, text=True)
    assert done.stdout == f"greville {__version__}\n"


def test_shell_completion():
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = children.run(
        [*GREVILLE, "--show-completion", "bash"], capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert "complete" in done.stdout


def test_help_does_not_wait_for_what_it_does_not_use():
    heavy = "{'numpy', 'scipy', 'sklearn', 'pyarrow', 'matplotlib', 'rich'}"
    show = "from greville.cli._app import app; app(['--help'], standalone_mode=False)"
    code = f"{show}; import sys; assert not {heavy} & set(sys.modules)"
    children.run([sys.executable, "-c", code])
