"""Lines of a stream as rows, and answers as lines."""

import json

import pytest

from greville.tables import TableError
from greville.tables.lines import LineSplitter, StreamLines


def test_lines_are_the_same_however_their_bytes_come():
    data = b"one\n\nthree" + b"x" * 20 + b"\nfour\n" + b"y" * 40 + b"\nlast"
    want = [b"one", b"", b"three" + b"x" * 20, b"four", None, b"last"]
    for size in (1, 2, 3, 7, 50, 1000):
        splitter, lines = LineSplitter(30), []
        for start in range(0, len(data), size):
            lines += splitter.add(data[start : start + size])
        assert lines + splitter.end() == want


def test_rows_of_json():
    lines = StreamLines()
    rows, first = lines.rows([b"", b'\xef\xbb\xbf{"x": 1}', None, b"{", b'{"x": 2}'])
    assert first == 1
    assert rows[0] is None
    assert rows[1] == {"x": 1}
    assert rows[2] == "it is longer than 16 MB"
    assert rows[3].startswith("it is not JSON")
    assert lines.rows([b'{"x": 3}']) == ([{"x": 3}], 6)
    assert lines.is_csv is False
    answers = [{"line": 1, "prediction": 0.5}, {"line": 2, "error": "no"}]
    assert list(map(json.loads, lines.text_of(answers).splitlines())) == answers


def test_rows_of_csv():
    lines = StreamLines()
    rows, first = lines.rows([b"a; b", b"1;", b"1;2;3"])
    assert (rows, first) == ([None, {"a": "1", "b": None}, "it has 3 fields instead of 2"], 1)
    assert lines.text_of([{"line": 2, "prediction": "a,b"}]) == 'line,prediction,error\n2,"a,b",\n'
    assert lines.text_of([{"line": 3, "error": "no"}]) == "3,,no\n"
    with pytest.raises(TableError, match="several columns are called 'a'"):
        StreamLines().rows([b"a,a"])


def test_lines_that_are_sent_again_are_passed_over():
    sent = [b"a,y", b"1,2", b"3,4", b"5,6"]
    whole = StreamLines()
    want = whole.rows(sent)[0]
    replayed = StreamLines(skip=2, before=2)  # from the first line
    assert replayed.rows(sent) == (want[2:], 3)
    continued = StreamLines(before=2)  # from the line of names, which is not counted again
    assert continued.rows([sent[0], *sent[2:]]) == (want[2:], 3)
