"""Files and lines that are made to do harm, from outside."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import greville
from greville import ELMRegressor
from greville.tables import batch

from .. import children
from ..houses import number_rows
from ..lengths import at_length
from ..runner import invoke, run
from ._outside import outside, refused_stream, refused_train

pytestmark = pytest.mark.usefixtures("here")


# Depth, length and width


@pytest.mark.parametrize(
    ("pair", "depth"), [(("[", "]"), 129), (('{"a":', "}"), 129), (("[", "]"), 30_000)]
)
def test_json_may_not_be_nested_deeply(pair, depth):
    row = '{"y": 1, "a": ' + pair[0] * depth + "1" + pair[1] * depth + "}\n"
    Path("deep.jsonl").write_text('{"y": 1, "a": "[[[["}\n' + row)
    done = outside("train", "deep.jsonl", "--target", "y")
    assert done.returncode == 2
    assert done.stderr.startswith(b"deep.jsonl, line 2: its lists and objects are nested more than")
    if depth == 30_000:
        assert "line 1: its lists and objects are nested" in refused_stream(row)


def test_brackets_in_strings_are_not_nesting():
    rows = [{"y": i % 5 + 0.5, "a": i, "s": '[{"\\' * 200 + "x" * (i % 3)} for i in range(50)]
    Path("flat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("train", "flat.jsonl", "--target", "y")
    assert greville.load("model.greville").n_rows == 50


@pytest.mark.full
def test_a_long_line_of_a_stream_is_passed_over():
    long = b'{"y": 1, "a": "' + b"x" * 100_000_000 + b'"}\n'
    lines = b'{"y": 1, "a": 2}\n' + long + b'{"y": 2, "a": 3}\n'
    done = outside("stream", "--target", "y", "--on-error", "stop", stdin=lines, memory=1 << 30)
    assert done.returncode == 2
    assert b"line 2: it is longer than 16 MB" in done.stderr
    done = outside("stream", "--target", "y", stdin=lines, memory=1 << 30)
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3]
    assert answers[1]["error"] == "it is longer than 16 MB"


@pytest.mark.full
def test_columns_that_no_file_can_hold_are_refused_before_learning(monkeypatch):
    columns = {f"c{i}{'x' * 20_000}": [1.0, 2.5, 4.0] for i in range(1_000)}
    parquet.write_table(pa.table({**columns, "y": [1.0, 2.5, 3.0]}), "wide.parquet")
    monkeypatch.setattr(ELMRegressor, "partial_fit", lambda *_: pytest.fail("it learned"))
    said = refused_train("wide.parquet")
    assert re.match(r"1,000 columns cannot be kept in a model file: .* --features", said)


@pytest.mark.full
def test_more_columns_than_can_be_used_are_refused_at_once(monkeypatch):
    """One file with so many; those of other formats are smaller, and so is the limit for them."""
    names = [str(i) for i in range(50_001)]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join("1" * 50_001) + "\n")
    said = refused_train("wide.csv", "0")
    assert said.startswith("wide.csv: it has 50,001 columns, and at most 50,000 can be used")
    Path("wide.jsonl").write_text(json.dumps(dict.fromkeys(names, 1)) + "\n")
    assert "wide.jsonl: it has 50,001 columns" in refused_train("wide.jsonl", "0")
    said = refused_stream(Path("wide.jsonl").read_text(), target="0")
    assert "line 1: it has more than 50,000 names" in said
    monkeypatch.setattr(batch, "MOST_COLUMNS", 500)
    Path("quoted.csv").write_text('"0",' + ",".join(names[1:501]) + "\n" + "1," * 500 + "1\n")
    parquet.write_table(pa.table({name: [1.0] for name in names[:501]}), "wide.parquet")
    np.save("wide.npy", np.ones((1, 501)))
    for name in ("quoted.csv", "wide.parquet", "wide.npy"):
        said = refused_train(name, "0")
        assert said.startswith(f"{name}: it has 501 columns, and at most 500 can be used")


def test_a_row_without_end_is_refused():
    Path("endless.csv").write_text("a,y\n1,2\n" + "3" * 9_000_000)
    assert "endless.csv, line 3: the row is longer than 4 MB" in refused_train("endless.csv")
    Path("quote.csv").write_text('a,y\n1,2\n"3,' + "4,5\n" * 2_000_000)
    assert "quote.csv, line 3: a quote opens a field and is not" in refused_train("quote.csv")


@pytest.mark.full
def test_every_row_with_names_of_its_own():
    """An object whose names are values is one column, not thousands."""
    lines = "".join(f'{{"y": {i % 7}.5, "a": {i}, "more": {{"k{i}": 1}}}}\n' for i in range(7_000))
    Path("names.jsonl").write_text(lines)
    done = outside("train", "names.jsonl", "--target", "y", "--hidden", "5", memory=1 << 29)
    assert done.returncode == 0, done.stderr
    assert greville.load("model.greville").n_rows == 7_000


def test_labels_have_a_length_and_a_number():
    rows = "".join(f"{i},{'x' * 1001 if i == 7 else 'ab'[i % 2]}\n" for i in range(60))
    Path("long.csv").write_text("a,y\n" + rows)
    assert "line 9: the target 'y' should be text of at most 1,000" in refused_train("long.csv")
    run("train", "long.csv", "--target", "y", "--on-error", "skip")
    assert greville.load("model.greville").classes == ["a", "b"]
    Path("ids.csv").write_text("a,y\n" + "".join(f"{i},c{i}\n" for i in range(20_000)))
    said = refused_train("ids.csv", "y", "--task", "classification", "--hidden", "2")
    assert re.search(r"different values, and at most 10,000 classes", said)


# Sizes and damage


def test_memory_is_asked_for_before_it_is_taken():
    Path("ok.csv").write_text(number_rows())
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


def damaged(good, seed):
    """Bits flipped, numbers replaced and bytes left out, most of them in the head and the foot."""
    chance, content = random.Random(seed), bytearray(good)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(content))
        if chance.random() < 0.5:
            at = chance.choice([at % 400, len(content) - 1 - at % 1000]) % len(content)
        what = chance.randrange(3)
        if what == 0:
            content[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            content[at : at + 4] = chance.choice([b"\xff\xff\xff\x7f", b"\xff" * 4, bytes(4)])
        else:
            del content[at : at + chance.randrange(1, 9)]
    return content


@pytest.mark.full
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
    good, target = Path(name).read_bytes(), "0" if name == "b.npy" else "y"

    def work():
        for seed in range(at_length(8, 200)):
            Path(name).write_bytes(damaged(good, seed))
            done = invoke(["train", name, "-t", target, "--hidden", "5"])
            assert done.exit_code in (0, 2), (seed, done.output)

    assert children.forked(work) == 0
