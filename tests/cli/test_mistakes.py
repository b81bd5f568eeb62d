"""What users can fix is said in one sentence, with exit code 2, and changes nothing."""

import os
import random
import re
import signal
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import greville
from greville.tables import TableModel

from .. import children
from ..houses import houses, number_rows, write
from ..posix import resource
from ..runner import refused, run
from ._outside import command, outside, refused_stream, refused_train

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with tables and models, for commands that change nothing."""
    folder = tmp_path_factory.mktemp("files")
    table = houses(40).append_column("one", pa.array(["only"] * 40))
    write(table.append_column("none", pa.nulls(40, pa.string())), f"{folder}/houses.csv")
    unknown = houses(40).set_column(5, "price", pa.nulls(40, pa.float64()))
    write(unknown, f"{folder}/unknown.csv")
    (folder / "empty").mkdir()
    (folder / "other.csv").write_text("x,price\n1,2\n")
    (folder / "few.csv").write_text("x\n1\n2\n")
    model = TableModel("price", task="regression").learn(houses(40))
    greville.save(model, folder / "good.greville")
    greville.save(greville.RandomLayer(3).fit(np.zeros((1, 2))), folder / "layer.greville")
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "houses.csv"], "--target is missing"),
        (["train", "empty", "-t", "price"], "empty: a folder without any table"),
        (["train", "houses.csv", "-t", "price", "--epsilon", "x"], "--epsilon x: pass 'auto' or"),
        (["train", "houses.csv", "-t", "price", "--window", "3"], "no such setting"),
        (["train", "houses.csv", "-t", "price", "--ignore", "nose"], "no column 'nose'"),
        (["train", "houses.csv", "-t", "price", "--features", "nose"], "no column 'nose'"),
        (["train", "houses.csv", "-t", "one"], "is 'only' in every row"),
        (["train", "houses.csv", "-t", "none"], "no row has a value of 'none'"),
        (["train", "houses.csv", "-t", "price", "-o", "empty"], "it is a folder"),
        (["train", "houses.csv", "--resume", "houses.csv"], "houses.csv"),
        (["train", "houses.csv", "-t", "price", "--delimiter", "ab"], "one ASCII character"),
        (["train", "houses.csv", "-t", "price", "--encoding", "martian"], "no such encoding"),
        (["predict", "good.greville", "other.csv"], "other.csv: it has no column 'area'"),
        (["predict", "good.greville", "houses.csv", "-o", "x.doc"], "x.doc: its name does not say"),
        (["predict", "layer.greville", "houses.csv"], "holds a RandomLayer saved from Python"),
        (["score", "good.greville", "unknown.csv"], "no row has a value of 'price'"),
        (["forecast", "few.csv", "--column", "x"], "2 samples are too few"),
        (["stream", "-t", "y", "--std", "--task", "classification"], "and no other --task"),
        (["serve", "no/where", "--target", "y"], "the folder .* does not exist"),
        (["stream", "-t", "y", "--checkpoint", "good.greville"], "not written by greville stream"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_mistakes_are_one_sentence_and_exit_code_2(files, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    before = set(os.listdir())
    said = refused(*arguments, "-q")
    assert re.search(message, said)
    assert set(os.listdir()) == before


@pytest.mark.posix("limits of resources")
def test_a_full_disk(here):
    """Nothing half-written, and the old model is still there."""
    write(houses(300))
    run("train", "houses.csv", "-t", "price", "-q", "--hidden", "50")
    before, files = Path("model.greville").read_bytes(), set(os.listdir())

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    for arguments in (
        ["train", "houses.csv", "-t", "price", "--hidden", "200"],
        ["predict", "model.greville", "houses.csv", "houses.csv", "houses.csv", "-o", "big.csv"],
    ):
        with tempfile.TemporaryFile() as said, open(os.devnull, "r+b") as nothing:
            numbers = (file.fileno() for file in (nothing, nothing, said))
            assert children.exit_code(command(arguments, *numbers, no_room)) == 2
            said.seek(0)
            assert len(said.read().strip().splitlines()) == 1
        assert Path("model.greville").read_bytes() == before
        assert set(os.listdir()) == files


@pytest.mark.posix("access rights")
def test_no_permission(here, monkeypatch):
    write(houses(50))
    (here / "locked").mkdir(mode=0o500)
    if os.geteuid() == 0:  # who may write everywhere
        monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("locked"))
    assert "check its permissions" in refused(
        "train", "houses.csv", "-t", "price", "-o", "locked/model.greville"
    )


def test_our_own_mistakes_end_with_1(here, monkeypatch):
    write(houses(50))
    monkeypatch.setattr(TableModel, "learn", lambda *_: 1 / 0)
    said = run("train", "houses.csv", "-t", "price", "-q", code=1)[1]
    assert "a bug in greville, not in your data: ZeroDivisionError" in said


def test_a_binary_first_line_of_a_stream():
    for first in (random.Random(0).randbytes(3000), b"\x00\x01a\rb,c", "a,y".encode("utf-16")):
        done = outside("stream", "--target", "y", stdin=first + b"\n1,2\n")
        assert done.returncode == 2
        assert done.stderr.startswith(b"standard input, line 1: it is n")


def test_text_that_is_not_utf8():
    Path("bad.jsonl").write_bytes(b'{"y": 1, "a": "x"}\n' * 30 + b'{"y": 2, "a": "\xff"}\n')
    assert refused_train("bad.jsonl").startswith("bad.jsonl, line 31: it is not in UTF-8; pass its")
    stopping = "stream", "--target", "y", "--on-error", "stop"
    done = outside(*stopping, stdin=b"a,y\n1,2\n\xff,3\n")
    assert (done.returncode, done.stderr[:38]) == (2, b"standard input, line 3: it is not CSV ")


def test_names_with_half_of_a_character():
    line = '{"y": 1, "a\\ud800": 2}\n'
    Path("half.jsonl").write_text(line * 3)
    want = "the name 'a\\ud800' has half of a character in it"
    assert f"line 1: {want}" in refused_train("half.jsonl")
    assert f"line 1: {want}" in refused_stream(line)


def test_a_name_that_comes_twice():
    Path("twice.csv").write_text("a,a,y\n1,2,3\n")
    want = "several columns are called 'a'; give each a name of its own."
    assert refused_train("twice.csv") == f"twice.csv: {want}"
    assert refused_stream("a,a,y\n1,2,3\n") == f"standard input: {want}"


@pytest.mark.parametrize("delimiter", ['"', "\n", "§", "::"])
def test_delimiters_that_cannot_be(delimiter):
    Path("ok.csv").write_text(number_rows())
    for arguments in (["train", "ok.csv"], ["stream"]):
        said = refused(*arguments, "--target", "y", "--delimiter", delimiter, stdin="a,y\n")
        assert said.startswith("--delimiter ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "-1"], "--epsilon -1: it must be"),
        (["--features", "nose"], "Pass other names as --features."),
        (["--target", "id"], "or pass --task classification."),
        (["--encoding", "utf8"], "it is not in UTF-8; pass its encoding, for instance --encoding"),
    ],
)
def test_errors_of_the_library_name_options(here, arguments, message):
    table = houses(40).append_column("id", pa.array([f"n{i}" for i in range(40)]))
    write(table)
    if arguments[0] == "--encoding":
        Path("houses.csv").write_bytes("straße,price\n1,2\n".encode("latin-1"))
    said = refused("train", "houses.csv", "--target", "price", *arguments, "-q")
    assert message in said
    assert "task=" not in said
