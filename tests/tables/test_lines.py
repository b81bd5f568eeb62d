"""Lines of a stream as rows."""

from greville.tables.lines import LineSplitter


def test_lines_are_the_same_however_their_bytes_come():
    data = b"one\n\nthree" + b"x" * 20 + b"\nfour\n" + b"y" * 40 + b"\nlast"
    want = [b"one", b"", b"three" + b"x" * 20, b"four", None, b"last"]
    for size in (1, 2, 3, 7, 50, 1000):
        splitter, lines = LineSplitter(30), []
        for start in range(0, len(data), size):
            lines += splitter.add(data[start : start + size])
        assert lines + splitter.end() == want
