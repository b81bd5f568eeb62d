"""Text from files reaches no terminal and no picture as control characters."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from .. import children
from ..houses import number_rows
from ..runner import invoke, run
from ._outside import EVIL, command, outside

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.full
def test_nothing_from_a_file_reaches_the_terminal_as_it_is(tmp_path):
    rng = np.random.default_rng(0)
    values = enumerate(rng.normal(size=80))
    rows = [f"{x:.3f},{['u', EVIL][i % 2]},{[EVIL, 'q'][int(x > 0)]}" for i, x in values]
    here = EVIL.replace("/", "")
    evil = Path(f"{here}.csv")
    evil.write_text(f"{EVIL},b,{EVIL}y\n" + "\n".join(rows) + "\n")
    model = f"{here}.greville"
    commands = [
        ("train", evil, "--target", EVIL + "y", "-o", model),
        ("train", evil, "--target", EVIL + "nope"),
        ("train", evil, "--target", EVIL),
        ("train", here + "nope.csv", "--target", "y"),
        ("info", model),
        ("info", model, "--json"),
        ("info", here + "nope.greville"),
        ("score", model, evil),
        ("score", model, evil, "--prequential"),
        ("forecast", evil, "--column", EVIL),
        ("forecast", evil, "--column", EVIL + "y"),
        ("merge", model, model, "-o", f"{here}2.greville"),
        ("unlearn", model, evil, "-o", f"{here}3.greville"),
        ("predict", model, evil, "-o", f"{here}out.csv"),
        ("predict", model, evil, "-o", f"{here}out.doc"),
        ("stream", "--target", EVIL + "y", "--checkpoint", f"{here}4.greville"),
    ]
    for arguments in commands:
        if arguments[0] == "stream":  # its answers are data
            done = outside(*arguments, stdin=evil.read_bytes())
            code, shown = done.returncode, done.stderr.decode()
        else:
            result = invoke(arguments)
            code, shown = result.exit_code, result.output
        assert code in (0, 2), (arguments, shown)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown), arguments
        assert "red" in shown, arguments  # it is there, and all of it is
        assert re.search(r"\[bold\]b\[/?bold\]:smile:", re.sub(r"[\s│┃]", "", shown)), arguments


@pytest.mark.posix("a pseudo-terminal")
def test_predictions_on_a_terminal_are_shown_and_not_obeyed():
    pty = pytest.importorskip("pty")
    Path("e.csv").write_text(f"a,s,y\n1,{EVIL},2\n2,b,3\n3,c,5\n")
    run("train", "e.csv", "--target", "y", "--features", "a")
    for arguments in (("predict", "model.greville", "e.csv", "-q"), ("stream", "--target", "s")):
        master, slave = pty.openpty()
        with open("e.csv", "rb") as given, open("errors", "wb") as errors:
            child = command(arguments, given.fileno(), slave, errors.fileno())
        assert children.exit_code(child) == 0
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            shown += piece
        os.close(master)
        assert b"\x1b" not in shown
        assert b"a,s,y" in shown or b"line,prediction" in shown
    assert EVIL.encode() in outside("predict", "model.greville", "e.csv", "-q").stdout


@pytest.mark.full
@pytest.mark.parametrize("name", ["$\\frac{1$", "\\_^ $", "x" * 5000, EVIL])
def test_pictures_have_names_as_they_are(name):
    Path("n.csv").write_text(number_rows(80, (name, "b", "y")))
    run("forecast", "n.csv", "--column", name, "--plot", "f.svg")
