"""Files and lines that nobody would write in good faith, from outside."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse
from typer.testing import CliRunner

import greville
from greville import ELMClassifier, ELMRegressor, FourierLayer, RandomLayer
from greville.cli._app import app
from greville.tables import Reading, TableModel, Troubles, find_sources, read

from .. import children
from ..children import GREVILLE
from .test_commands import here, refused, run

__all__ = ["here"]  # every test in a folder of its own

# Colours, the title of the window, a bell, markup and emoji of rich, and writing to the left
EVIL = "\x1b[31mred\x1b]0;title\x07[bold]b[/bold]:smile:\u202ex\x9b1m"


def numbers(n=60, names=("a", "b", "y")):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, len(names)))
    lines = [",".join(names), *(",".join(f"{v:.4f}" for v in row) for row in rows)]
    return "\n".join(lines) + "\n"


def outside(*arguments, stdin=None, memory=None):
    """A command in a process of its own."""
    limit = None
    if memory is not None:

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return children.run(
        [*GREVILLE, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        preexec_fn=limit,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


# Depth, length and width


@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
@pytest.mark.parametrize("depth", [101, 30_000])
def test_json_may_not_be_nested_deeply(pair, depth):
    row = '{"y": 1, "a": ' + pair[0] * depth + "1" + pair[1] * depth + "}\n"
    Path("deep.jsonl").write_text('{"y": 1, "a": "[[[["}\n' + row)
    done = outside("train", "deep.jsonl", "--target", "y")
    assert done.returncode == 2
    assert done.stderr.startswith(b"deep.jsonl, row 2: its lists and objects are nested more than")
    if depth == 30_000:
        assert "line 1: its lists and objects are nested" in refused_stream(row)


def test_brackets_in_strings_are_not_nesting():
    rows = [{"y": i % 5 + 0.5, "a": i, "s": '[{"\\' * 200 + "x" * (i % 3)} for i in range(50)]
    Path("flat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("train", "flat.jsonl", "--target", "y")
    assert greville.load("model.greville").n_rows == 50


def test_a_long_line_of_a_stream_is_passed_over():
    long = b'{"y": 1, "a": "' + b"x" * 100_000_000 + b'"}\n'
    lines = b'{"y": 1, "a": 2}\n' + long + b'{"y": 2, "a": 3}\n'
    done = outside("stream", "--target", "y", stdin=lines, memory=3 << 30)
    assert done.returncode == 2
    assert b"line 2: it is longer than 16 MB" in done.stderr
    done = outside("stream", "--target", "y", "--on-error", "skip", stdin=lines, memory=3 << 30)
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3]
    assert answers[1]["error"] == "it is longer than 16 MB"


def test_lines_are_the_same_however_their_bytes_come():
    from greville.cli._lines import LineSplitter

    data = b"one\n\nthree" + b"x" * 20 + b"\nfour\n" + b"y" * 40 + b"\nlast"
    want = [b"one", b"", b"three" + b"x" * 20, b"four", None, b"last"]
    for size in (1, 2, 3, 7, 50, 1000):
        splitter, lines = LineSplitter(30), []
        for start in range(0, len(data), size):
            lines += splitter.add(data[start : start + size])
        assert lines + splitter.end() == want


def test_columns_that_no_file_can_hold_are_refused_before_learning(monkeypatch):
    names = [f"c{i}" for i in range(20_000)]
    Path("wide.csv").write_text(numbers(5, (*names, "y")))
    monkeypatch.setattr(ELMRegressor, "partial_fit", lambda *_: pytest.fail("it learned"))
    assert re.match(
        r"20,000 columns cannot be kept in a model file: .* --features", refused_train("wide.csv")
    )


def refused_stream(lines, *more, target="y"):
    done = outside("stream", "--target", target, *more, stdin=lines.encode())
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode().strip()


def refused_train(name, target="y", *more):
    return refused("train", name, "--target", target, *more)


def test_more_columns_than_can_be_used_are_refused_at_once():
    names = [str(i) for i in range(50_001)]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join("1" * 50_001) + "\n")
    Path("quoted.csv").write_text('"0",' + ",".join(names[1:]) + "\n" + "1," * 50_000 + "1\n")
    Path("wide.jsonl").write_text(json.dumps(dict.fromkeys(names, 1)) + "\n")
    parquet.write_table(pa.table({name: [1.0] for name in names}), "wide.parquet")
    np.save("wide.npy", np.ones((1, 50_001)))
    for name in ("wide.csv", "quoted.csv", "wide.parquet", "wide.npy"):
        said = refused_train(name, "0")
        assert re.match(rf"{name}: it has 50,001 columns, and at most 50,000 can be used", said)
    assert "wide.jsonl, row 1: it has more than 50,000 names" in refused_train("wide.jsonl", "0")
    said = refused_stream(Path("wide.jsonl").read_text(), target="0")
    assert "line 1: it has more than 50,000 names" in said


def test_a_row_without_end_is_refused():
    Path("endless.csv").write_text("a,y\n1,2\n" + "3" * 9_000_000)
    assert refused_train("endless.csv").startswith("endless.csv, row 2: it is longer than 4 MB")
    Path("quote.csv").write_text('a,y\n1,2\n"3,' + "4,5\n" * 2_000_000)
    assert "is every quote closed?" in refused_train("quote.csv")


def test_every_row_with_names_of_its_own():
    """Arrow makes room for every name in every row: 7 GB for these."""
    lines = "".join(f'{{"y": {i % 7}.5, "a": {i}, "more": {{"k{i}": 1}}}}\n' for i in range(30_000))
    Path("names.jsonl").write_text(lines)
    done = outside("train", "names.jsonl", "--target", "y", "--hidden", "5", memory=6 << 30)
    assert done.returncode == 0, done.stderr
    assert greville.load("model.greville").n_rows == 30_000


def test_labels_have_a_length_and_a_number():
    rows = "".join(f"{i},{'x' * 1001 if i == 7 else 'ab'[i % 2]}\n" for i in range(60))
    Path("long.csv").write_text("a,y\n" + rows)
    assert "row 8: the target 'y' should be text of at most 1,000 char" in refused_train("long.csv")
    run("train", "long.csv", "--target", "y", "--on-error", "skip")
    assert greville.load("model.greville").classes == ["a", "b"]
    Path("ids.csv").write_text("a,y\n" + "".join(f"{i},c{i}\n" for i in range(20_000)))
    said = refused_train("ids.csv", "y", "--task", "classification", "--hidden", "2")
    assert re.search(r"different values, and at most 10,000 classes", said)


# Sizes in memory


EMPTY = sparse.csr_matrix((3, 10**9))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: ELMRegressor().fit(EMPTY, [1, 2, 3]), "1,000,000,000 columns"),
        (lambda: ELMRegressor(3, "light").fit(EMPTY, [1, 2, 3]), "hidden=3"),
        (lambda: ELMClassifier(5).partial_fit(EMPTY, [1, 2, 3]), "hidden=5"),
        (lambda: RandomLayer(100).fit(EMPTY), "n_hidden=100"),
        (lambda: FourierLayer(100).fit(EMPTY), "n_hidden=100"),
        (lambda: ELMRegressor(FourierLayer(9)).fit(EMPTY, [1, 2, 3]), "1,000,000,000 columns"),
        (lambda: ELMRegressor(200_000).fit(np.ones((3, 2)), [1, 2, 3]), "hidden=200000"),
        (lambda: ELMRegressor(200_000).learn_one(np.ones(2), 1.0), "hidden=200000"),
        (lambda: ELMClassifier(200_000).fit(np.ones((3, 2)), [1, 2, 3]), "hidden=200000"),
    ],
)
def test_what_memory_cannot_hold_is_said_before_it_is_taken(call, named):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MemoryError, match=r"this takes [\d.,]+ [GT]B of memory") as error:
        call()
    assert named in str(error.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18  # kilobytes


def test_so_does_the_command():
    Path("ok.csv").write_text(numbers())
    said = refused_train("ok.csv", "y", "--hidden", "100000")
    assert re.match(r"hidden=100000 .* takes [\d.]+ GB of memory, and the machine has", said)


def test_arrays_that_claim_to_be_longer_than_their_file():
    np.save("a.npy", np.asfortranarray(np.ones((50, 2))))
    content = Path("a.npy").read_bytes()
    for shape in ("(999999999999999999, 2)", "(9999999999, 2)", "(-5, 2)", "(5, -2)"):
        header = re.search(rb"\{.*\n", content)[0]
        lying = header.decode().replace("(50, 2)", shape).rstrip().ljust(len(header) - 1) + "\n"
        Path("a.npy").write_bytes(content.replace(header, lying.encode()))
        assert refused_train("a.npy", "0").startswith("a.npy: it cannot be read")


# Damaged files


@pytest.mark.parametrize("name", ["b.parquet", "b.arrow", "b.arrows", "b.npz", "b.npy"])
def test_no_damaged_table_does_harm(name):
    """Each is refused, or learned; in a process of its own, whose end is seen."""
    table = pa.table(
        {
            "a": np.arange(200.0),
            "s": [None if i % 9 == 0 else "é" * (i % 5) for i in range(200)],
            "d": pa.array(["u", "v"] * 100).dictionary_encode(),
            "l": [[1.0, 2.0]] * 200,
            "y": np.arange(200.0) % 17,
        }
    )
    if name == "b.parquet":
        parquet.write_table(table, name, compression="none", use_dictionary=False)
    elif name == "b.arrow":
        with pa.OSFile(name, "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    elif name == "b.arrows":
        with pa.OSFile(name, "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
            out.write_table(table)
    elif name == "b.npz":
        np.savez_compressed(name, a=np.arange(200.0), y=np.arange(200.0))
    else:
        np.save(name, np.ones((200, 3)))
    code = f"""
import random, sys
from pathlib import Path
from typer.testing import CliRunner
from greville.cli._app import app
good, kind = Path({name!r}).read_bytes(), {name!r}.split(".")[1]
for seed in range(40):
    chance, content = random.Random(seed), bytearray(good)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(content))
        if chance.random() < 0.5:
            at = chance.choice([at % 400, len(content) - 1 - at % 1000]) % len(content)
        what = chance.randrange(3)
        if what == 0:
            content[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            content[at : at + 4] = chance.choice([b"\\xff\\xff\\xff\\x7f", b"\\xff" * 4, bytes(4)])
        else:
            del content[at : at + chance.randrange(1, 9)]
    Path(f"damaged.{{kind}}").write_bytes(content)
    print(seed, flush=True)
    target = "0" if kind == "npy" else "y"
    done = CliRunner().invoke(app, ["train", f"damaged.{{kind}}", "-t", target, "--hidden", "5"])
    if done.exit_code not in (0, 2):
        sys.exit(f"{{seed}}: {{done.exit_code}} {{done.output}}")
"""
    done = children.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout[-10:], done.stderr)


# What is for the user to mend


def test_a_binary_first_line_of_a_stream():
    for first in (random.Random(0).randbytes(3000), b"\x00\x01a\rb,c", "a,y".encode("utf-16")):
        done = outside("stream", "--target", "y", stdin=first + b"\n1,2\n")
        assert done.returncode == 2
        assert done.stderr.startswith(b"standard input, line 1: it is n")


def test_text_that_is_not_utf8():
    Path("bad.jsonl").write_bytes(b'{"y": 1, "a": "x"}\n' * 30 + b'{"y": 2, "a": "\xff"}\n')
    assert refused_train("bad.jsonl").startswith("bad.jsonl, row 31: it is not JSON ('utf-8' codec")
    run("train", "bad.jsonl", "--target", "y", "--on-error", "skip", "--task", "regression")
    assert greville.load("model.greville").n_rows == 30
    done = outside("stream", "--target", "y", stdin=b"a,y\n1,2\n\xff,3\n")
    assert (done.returncode, done.stderr[:38]) == (2, b"standard input, line 3: it is not CSV ")


def test_names_with_half_of_a_character():
    line = '{"y": 1, "a\\ud800": 2}\n'
    Path("half.jsonl").write_text(line * 3)
    want = "the name 'a\\ud800' has half of a character in it"
    assert f"row 1: {want}" in refused_train("half.jsonl")
    assert f"line 1: {want}" in refused_stream(line)


def test_a_name_that_comes_twice():
    Path("twice.csv").write_text("a,a,y\n1,2,3\n")
    want = "several columns are called 'a'; give each a name of its own."
    assert refused_train("twice.csv") == f"twice.csv: {want}"
    assert refused_stream("a,a,y\n1,2,3\n") == f"standard input: {want}"


@pytest.mark.parametrize("delimiter", ['"', "\n", "\r", "§", "::"])
def test_delimiters_that_cannot_be(delimiter):
    Path("ok.csv").write_text(numbers())
    for command in (["train", "ok.csv"], ["stream"]):
        said = refused(*command, "--target", "y", "--delimiter", delimiter, stdin="a,y\n")
        assert said.startswith("--delimiter ")


def test_a_stream_takes_the_fields_that_training_takes():
    rows = "a,y\n" + "".join(f"{'x' * 200_000},{i}\n" for i in range(3))
    Path("long.csv").write_text(rows)
    run("train", "long.csv", "--target", "y")
    done = outside("stream", "--target", "y", stdin=rows.encode())
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4)


@pytest.mark.parametrize("name", ["$\\frac{1$", "$", "a$b$c", "\\", "_^", "x" * 5000, EVIL])
def test_pictures_have_names_as_they_are(name):
    header = [name, "kind", "y"]
    rng = np.random.default_rng(0)
    Path("n.csv").write_text(numbers(80, (name, "b", "y")))
    run("train", "n.csv", "--target", name, "-o", "n.greville")
    run("score", "n.greville", "n.csv", "--plot", "n.png")
    run("forecast", "n.csv", "--column", name, "--plot", "f.svg")
    rows = [f"{x:.3f},{name if x > 0 else 'b'},{x:.2f}" for x in rng.normal(size=80)]
    Path("c.csv").write_text("\n".join([",".join(header), *rows]) + "\n")
    if len(name) < 1000:
        run("train", "c.csv", "--target", "kind", "-o", "c.greville")
        run("score", "c.greville", "c.csv", "--plot", "c.pdf")


def test_messages_have_the_numbers_that_were_passed():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    model = ELMRegressor(10, random_state=0).partial_fit(X, 1e-160 * X[:, 0])
    for learn in (
        lambda: model.partial_fit(X[:1], [1e3]),
        lambda: model.learn_one(X[0], 1e3),
    ):
        with pytest.raises(ValueError, match=r"^y: got numbers from 1e\+03 to 1e\+03, which"):
            learn()
    relu = ELMRegressor(RandomLayer(10, activation="relu", random_state=0)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"X, as it was passed, has numbers from 1e\+200 to 1e"):
        relu.predict(np.full((1, 2), 1e200))


# Terminals


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
        ("score", model, evil, "--prequential", "--plot", f"{here}.png"),
        ("forecast", evil, "--column", EVIL),
        ("forecast", evil, "--column", EVIL + "y"),
        ("merge", model, model, "-o", f"{here}2.greville"),
        ("unlearn", model, evil, "-o", f"{here}3.greville"),
        ("predict", model, evil, "-o", f"{here}out.csv"),
        ("predict", model, evil, "-o", f"{here}out.doc"),
        ("stream", "--target", EVIL + "y", "--checkpoint", f"{here}4.greville"),
    ]
    for command in commands:
        if command[0] == "stream":  # its answers are data
            done = outside(*command, stdin=evil.read_bytes())
            code, shown = done.returncode, done.stderr.decode()
        else:
            result = CliRunner().invoke(app, list(map(str, command)))
            code, shown = result.exit_code, result.output
        assert code in (0, 2), (command, shown)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown), command
        assert "red" in shown, command  # it is there, and all of it is
        assert re.search(r"\[bold\]b\[/?bold\]:smile:", re.sub(r"[\s│┃]", "", shown)), command


def test_predictions_on_a_terminal_are_shown_and_not_obeyed():
    pty = pytest.importorskip("pty")
    Path("e.csv").write_text(f"a,s,y\n1,{EVIL},2\n2,b,3\n3,c,5\n")
    run("train", "e.csv", "--target", "y", "--features", "a")
    for command, stdin in (
        (("predict", "model.greville", "e.csv", "-q"), None),
        (("stream", "--target", "s"), Path("e.csv").read_bytes()),
    ):
        master, slave = pty.openpty()
        done = children.run(
            [*GREVILLE, *command], stdout=slave, input=stdin or b"", stderr=subprocess.DEVNULL
        )
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            shown += piece
        os.close(master)
        assert done.returncode == 0
        assert b"\x1b" not in shown
        assert b"a,s,y" in shown or b"line,prediction" in shown
    assert EVIL.encode() in outside("predict", "model.greville", "e.csv", "-q").stdout


# Two at once


def test_two_streams_cannot_have_one_checkpoint():
    command = [*GREVILLE, "stream", "--target", "y", "--checkpoint", "c.greville"]
    with children.started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        first.stdin.write(b'{"a": 1, "y": 1}\n{"a": 2, "y": 2}\n')
        first.stdin.flush()
        first.stdout.readline()
        said = refused_stream('{"a": 1}\n', "--checkpoint", "c.greville")
        assert said.startswith("c.greville: another greville command is using it; wait until")
        first.send_signal(signal.SIGKILL)  # the lock goes with the process, its file does not
    assert Path(".c.greville.lock").exists()
    lines = "".join(f'{{"a": {i}, "y": {i}}}\n' for i in range(5))
    command = "stream", "--target", "y", "--checkpoint", "c.greville"
    assert outside(*command, stdin=lines.encode()).returncode == 0
    assert greville.load("c.greville").lines == 5
    assert not Path(".c.greville.lock").exists()


def test_nor_can_training_and_unlearning(tmp_path):
    Path("a.csv").write_text(numbers(300))
    run("train", "a.csv", "--target", "y", "-o", "m.greville")
    os.mkfifo("slow.csv")
    held = {
        "c.greville": ("train", "slow.csv", "--target", "y", "--checkpoint", "c.greville"),
        "m.greville": ("unlearn", "m.greville", "slow.csv"),
    }
    for name, command in held.items():
        with children.started([*GREVILLE, *command], stderr=subprocess.DEVNULL) as first:
            wait_for(lambda name=name: Path(f".{name}.lock").exists())
            others = [command, ("train", "a.csv", "--resume", "m.greville")][: 1 + (name[0] == "m")]
            for other in others:
                assert refused(*other).startswith(f"{name}: another greville command is using it")
            first.kill()
    run("train", "a.csv", "--resume", "m.greville")


def wait_for(ready, seconds=60):
    """Until something is there that another process makes."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


# From Python


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_of_csv_end_where_they_should(end, tmp_path, monkeypatch):
    from greville.tables import _csv

    fields = ["plain", '"a, b"', '"two\nlines"', '"he said ""yes"""', '5" pipe', '""', "", "é"]
    rng = random.Random(0)
    rows = [[rng.choice(fields) for _ in range(3)] for _ in range(400)]
    text = end.join(",".join(row) for row in [["x", "y", '"z\n1"'], *rows]) + end
    Path("t.csv").write_bytes(text.encode())

    def value(field):
        quoted = field.startswith('"')
        return (field[1:-1].replace('""', '"') if quoted else field) or None

    want = [[value(field) for field in row] for row in rows]
    for block in (97, 1000, 1 << 22):
        monkeypatch.setattr(_csv, "_BLOCK", block)
        found = list(read(find_sources(["t.csv"]), Reading(), Troubles()))
        assert found[0].table.schema.names == ["x", "y", "z\n1"]
        got = [list(row.values()) for batch in found for row in batch.table.to_pylist()]
        assert got == want
        assert np.concatenate([b.numbers for b in found]).tolist() == list(range(1, 401))


def test_a_reader_that_is_dropped_lets_the_interpreter_end():
    Path("long.csv").write_text(numbers(20_000))
    code = """
from greville.tables import Reading, Troubles, find_sources, read
batches = read(find_sources(["long.csv"] * 50), Reading(), Troubles())
next(batches)
"""
    done = children.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_table_models_refuse_too_many_names():
    table = pa.table({f"c{i}": [1.0, 2.0] for i in range(50_002)})
    with pytest.raises(ValueError, match="at most 50,000 can be used"):
        TableModel("c0").learn(table)
