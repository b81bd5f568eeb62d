"""Tables of text as people write them: comments, blanks, no names, quotes that stay open."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

import greville
from greville.tables import Reading, RowErrors
from greville.tables.readers import reading, source

from ..houses import rows_of, shown_numbers
from ..lengths import at_length
from ..runner import refused, run


def read_text(text, **how):
    """The rows of a CSV with their lines, what was found, and the lines that were left out."""
    Path("t.csv").write_text(text, newline="")
    batches = rows_of("t.csv", Reading(**how), RowErrors(skip=True))
    rows = [
        (line, *row.values())
        for batch in batches
        for line, row in zip(shown_numbers(batch), batch.table.to_pylist(), strict=True)
    ]
    findings = {f.kind: f for batch in batches for f in batch.findings}
    reasons = [reason for batch in batches for _, reason in batch.skipped]
    skipped = [int(re.search(r"line ([\d,]+)", each)[1].replace(",", "")) for each in reasons]
    return batches[0].table.schema.names, rows, findings, skipped


# Lines


def test_rows_have_the_numbers_that_an_editor_shows(here):
    text = '\na,y\n1,2\n\n"two\nlines",3\n\n4\n5,6\n'
    names, rows, _, skipped = read_text(text)
    assert names == ["a", "y"]
    assert rows == [(3, "1", "2"), (5, "two\nlines", "3"), (9, "5", "6")]
    assert skipped == [8]
    assert refused("train", "t.csv", "-t", "y").startswith("t.csv, line 8 has 1 field instead of 2")
    Path("u.csv").write_text(text.replace("\n4\n", "\n4,5\n") + "7,8\n" * 60)
    said = refused("train", "u.csv", "--target", "y", "--task", "regression")
    assert said.startswith("u.csv, line 5: column 'a' should be a number, got 'two\\nlines'")


def fields_by_hand(text):
    """Rows of CSV and the lines in which they begin, character by character."""
    rows, i, line = [], 0, 1
    while i < len(text):
        if text[i] in "\r\n":
            i += 1 + text.startswith("\r\n", i)
            line += 1
            continue
        begin, fields = line, [""]
        quoted = text[i] == '"'
        i += quoted
        while i < len(text):
            if quoted and text.startswith('""', i):
                fields[-1] += '"'
                i += 2
            elif quoted and text[i] == '"':
                quoted = False
                i += 1
            elif not quoted and text[i] == ",":
                i += 1
                quoted = text.startswith('"', i)
                i += quoted
                fields.append("")
            elif not quoted and text[i] in "\r\n":
                break
            else:
                line += text[i] == "\n" or (text[i] == "\r" and not text.startswith("\r\n", i))
                fields[-1] += text[i]
                i += 1
        rows.append((begin, *fields))
    return rows


def test_lines_of_any_table(here, monkeypatch):
    pieces = ["a", '"x, y"', '"two\nlines"', '"q""q"', '5" p', '""', "", '"cr\r\nlf"', '"\n\n"']
    for seed in range(at_length(20, 200)):
        chance = random.Random(seed)
        end = chance.choice(["\n", "\r\n", "\r"])
        sizes = [chance.choice([0, 2, 3, 3, 3, 3, 4]) for _ in range(25)]
        lines = [",".join(chance.choice(pieces) for _ in range(n)) for n in sizes]
        text = end.join(["h1,h2,h3", "1,2,3", *lines]) + end * chance.randrange(2)
        monkeypatch.setattr(source, "BLOCK", chance.choice([7, 31, 200]))
        monkeypatch.setattr(reading, "_HEAD", chance.choice([16, 64, 1 << 16]))
        _, rows, _, skipped = read_text(text, header=True)
        # Lines that end in several ways are made to end alike; a delimiter may end a row.
        unix = text.replace("\r\n", "\n").replace("\r", "\n")
        alike = text.count("\r\n") == text.count("\r") == text.count("\n")
        want = fields_by_hand(text if alike else unix)[1:]
        want = [row[:-1] if len(row) == 5 and not row[4] else row for row in want]
        assert [tuple(v or "" for v in row) for row in rows] == [r for r in want if len(r) == 4]
        assert skipped == [line for line, *fields in want if len(fields) != 3]


@pytest.mark.parametrize("line", [2, 4, 5, 7])
def test_the_line_that_is_not_in_utf8(here, line):
    lines = [b"# \xc3\xa4", b"a,y", b"1,2", b'"x', b'y",3', b"# \xc3\xa4", b"4,5"]
    Path("t.csv").write_bytes(b"\n".join(lines) + b"\n")
    assert sum(map(len, rows_of("t.csv"))) == 3
    lines[line - 1] += b"\xff"
    Path("t.csv").write_bytes(b"\n".join(lines) + b"\n")
    said = refused("train", "t.csv", "--target", "y", "--on-error", "skip")
    assert said.startswith(f"t.csv, line {line}: it is not in UTF-8; pass its encoding, for inst")
    assert said.endswith("--encoding cp1252.")


# Quotes


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('1,2\n2,"open,4\n3,5\n4,"7"\n5,6\n', 3),  # closed by that of another
        ('1,2\n2,"open\n3,5\n4,6\n', 3),  # until the end
        ('1,2\n2,"open\n3,""\n4,6\n', 3),
        ('"more\nlines","open\n3,5\n"4",6\n', 2),
        ('1,2\n"2" x,3\n4,5\n', 3),
        ('1,2\r\n2,"open\r\n', 3),
        ("1,2\n" * 3000 + '"3,4\n' + "5,6\n" * 3000, 3002),
    ],
)
def test_a_quote_that_is_not_closed_is_refused(here, text, line):
    Path("t.csv").write_text("a,y\n" + text, newline="")
    for options in ([], ["--on-error", "skip"]):
        assert refused("train", "t.csv", "--target", "y", *options) == (
            f"t.csv, line {line:,}: a quote opens a field and is not closed; fix the file."
        )


def test_quotes_that_may_be_two_open_ones(here):
    finding = read_text('a,b\n1,"\n2,x\n3,"\n4,y\n')[2]["quotes"]
    assert finding.warning
    assert finding.message.startswith("t.csv, line 2: a field in quotes goes on over several")
    for text in ('a,b\n1,"x\ny"\n"",2\n', 'a,b\n"x,","y"\n', 'a,b\n"1",""\n"",","\n'):
        assert not read_text(text)[2]


# Names


@pytest.mark.parametrize(
    "text",
    ["1,2\n3,4\n", "5.1;3.5\n4.9;3.0\n", "3,14;2,5\n1,5;2,7\n", "0,0,1\n1,0,1\n", "1.5\n2.5\n"],
)
def test_numbers_for_names_are_refused(here, text):
    Path("t.csv").write_text(text)
    said = refused("train", "t.csv", "--target", "1")
    assert said.startswith("t.csv, line 1: the names of the columns would be '")
    assert said.endswith("pass --no-header, and columns are called 0, 1, 2, ...; if it has names, "
                         "pass --header.")  # fmt: skip
    names, rows, _, _ = read_text(text, header=False)
    assert names == [str(i) for i in range(len(names))]
    assert [row[0] for row in rows] == [1, 2]
    if len(set(names)) > 2:
        run("train", "t.csv", "--target", "1", "--no-header", "--task", "regression", "-q")
        assert greville.load("model.greville").n_rows == 2


def test_names_that_are_numbers_for_sure(here):
    Path("t.csv").write_text("1,2\n3,4\n5,6\n")
    run("train", "t.csv", "--target", "2", "--header", "--task", "regression", "-q")
    assert greville.load("model.greville").n_rows == 2
    for text in (
        "0,1,2\n1.5,2.5,3\n",  # as pandas calls columns without names
        ",0,1\n0,1.5,2\n",
        "country,1990,1991\nA,1,2\n",
        "a,b\n1,2\n",
        "a,b\n",
    ):
        if text.count("\n") > 1:
            assert "header" not in read_text(text)[2]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", "the columns of numbers have numbers for names"),
        ("red,small\nblue,small\nred,big\n", "'red' is also a value of the column of that name"),
    ],
)
def test_values_that_are_taken_for_names_are_said(here, text, why):
    finding = read_text(text)[2]["header"]
    assert finding.warning
    assert finding.message.startswith("t.csv, line 1: its fields '")
    assert why in finding.message
    assert finding.message.endswith("if it is a row of values, pass header=False.")
    assert "header" not in read_text(text, header=False)[2]


# Above and below a table


@pytest.mark.parametrize(
    ("above", "title"),
    [("", None), ("Sales\n", 2), ("Sales;;\n\nof 2020\n", 4), ("sep=;\n", None)],
)
@pytest.mark.parametrize("below", ["", "Source: office\n", "\nnote\nSource: office\n\n"])
@pytest.mark.parametrize("total", ["", "Summe;435;900\n"])
def test_what_stands_above_and_below_is_no_part_of_a_table(here, above, title, below, total):
    text = "region;units;y\n" + "".join(f"r{i % 3};{i};{2 * i}\n" for i in range(30))
    names, rows, findings, skipped = read_text(above + text + total + below)
    assert names == ["region", "units", "y"]
    assert [row[2] for row in rows] == [str(i) for i in range(30)]
    assert rows[0][0] == above.count("\n") + 2
    assert not skipped
    assert ("title" in findings) == (title is not None)
    assert title is None or f"what is above line {title} is no part" in findings["title"].message
    assert ("footer" in findings) == bool(below)
    assert ("total" in findings) == bool(total)
    assert not total or "it is the total of the others (Summe)" in findings["total"].message


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_delimiter_that_a_first_line_names(here, mark):
    names, rows, _, _ = read_text(f"sep={mark}\na{mark}y\n1,5{mark}2\n")
    assert (names, rows) == (["a", "y"], [(3, "1,5", "2")])


def test_a_delimiter_behind_the_last_name(here):
    names, rows, _, skipped = read_text("id,y,\n1,2\n3,4\n")
    assert (names, rows, skipped) == (["id", "y"], [(2, "1", "2"), (3, "3", "4")], [])


def test_lines_that_are_skipped_by_number(here):
    text = "made,by,hand\n1,2,3\na,b,y\n4,5,6\n7,8,9\n"
    names, rows, _, _ = read_text(text, skip_rows=2)
    assert (names, rows) == (["a", "b", "y"], [(4, "4", "5", "6"), (5, "7", "8", "9")])
    Path("t.csv").write_text(text)
    said = run("check", "t.csv", "--skip-rows", "2", "--target", "y")[0]
    assert "t.csv: 2 rows" in said


def test_one_row_that_is_ragged_changes_no_other(here):
    text = "a;b;y\n" + "".join(f"{i};{i},5;{i}\n" for i in range(20)) + "1,2;3\n4;5;6\n"
    names, rows, _, skipped = read_text(text)
    assert (names, len(rows), skipped) == (["a", "b", "y"], 21, [22])


# Comments and blanks


def test_comments(here):
    text = "# made on Monday\n#\na,b,y\n1,2,3\n# pause, of a day\n4,5,6\n"
    names, rows, findings, skipped = read_text(text)
    assert names == ["a", "b", "y"]
    assert rows == [(4, "1", "2", "3"), (6, "4", "5", "6")]
    assert not skipped
    assert "as in line 1; they are left out" in findings["comments"].message
    # Without a comment above the names, a line that begins with # is a row like others.
    _, rows, findings, skipped = read_text("a,b,y\n1,2,3\n# pause\n4,5,6\n")
    assert ([row[0] for row in rows], skipped) == ([2, 4], [3])
    _, rows, findings, _ = read_text("colour,y\n#ff0000,1\n#00ff00,2\n")
    assert rows == [(2, "#ff0000", "1"), (3, "#00ff00", "2")]
    assert not findings
    names, rows, findings, _ = read_text("# of 2024\n# a,b\n1,2\n")
    assert (names, rows) == (["a", "b"], [(3, "1", "2")])
    assert "names of the columns are taken from" in findings["comments"].message


def test_columns_with_blanks_between(here):
    text = "  name      x    y\n  a       1.0    2\n  b      12.5    3\n"
    names, rows, findings, _ = read_text(text)
    assert names == ["name", "x", "y"]
    assert rows == [(2, "a", "1.0", "2"), (3, "b", "12.5", "3")]
    assert findings["delimiter"].message == "t.csv: the fields are separated by blanks."
    # as R writes a table, with names of rows and without one for them
    text = '"mpg" "cyl"\n"Mazda RX4" 21 6\n"Fiat 128" 32.4 4\n'
    names, rows, _, _ = read_text(text)
    assert names == ["", "mpg", "cyl"]
    assert rows == [(2, "Mazda RX4", "21", "6"), (3, "Fiat 128", "32.4", "4")]
    names, rows, findings, _ = read_text("# a b\n 1.0  2.0\n 3.0  4.0\n")  # numpy.savetxt
    assert (names, rows[1]) == (["a", "b"], (3, "3.0", "4.0"))
    assert read_text("a b\n1 2\n", delimiter=" ")[0] == ["a", "b"]
    assert read_text("a b\n1,5 2\nx 3,25\n")[1] == [(2, "1,5", "2"), (3, "x", "3,25")]
    assert read_text("notes\nall is well\nvery well\n")[0] == ["notes"]


def test_blanks_by_name_and_models_of_them(here):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 2))
    lines = [f"{a:9.4f}   {b:9.4f}  {a + b:9.4f}\n" for a, b in rows]
    Path("t.txt").write_text("   a          b        y\n" + "".join(lines))
    run("train", "t.txt", "--target", "y", "-q")
    want = greville.load("model.greville").n_rows
    run("train", "t.txt", "--target", "y", "-q", "--delimiter", "space")
    assert greville.load("model.greville").n_rows == want == 80


def test_empty_lines_where_they_may_be_values(here):
    _, rows, findings, _ = read_text("x\n1\n\n3\n")
    assert rows == [(2, "1"), (4, "3")]
    assert findings["empty lines"].message.startswith("t.csv: line 3 is empty; in a table of one")
    assert not read_text("x,y\n1,2\n\n3,4\n")[2]
