"""Lines in, answers out, for ``greville stream``."""

from __future__ import annotations

import csv
import io
import json
import os
import select
import sys
from collections.abc import Iterator
from typing import Any

from ._terminal import printable_lines

# Bytes read at once, and lines answered at once.
BYTES, _LINES = 1 << 18, 4096


class LineSplitter:
    """Bytes as they come, cut into lines; of one that is too long only that it was is kept."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, data: bytes) -> list[bytes | None]:
        """The lines that are now whole; None for one that was too long."""
        *whole, rest = data.split(b"\n")
        lines: list[bytes | None] = []
        for piece in whole:
            self._keep(piece)
            lines.append(self._line())
        self._keep(rest)
        return lines

    def end(self) -> list[bytes | None]:
        """The last line, if it has no end."""
        return [self._line()] if self._length else []

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > self._longest:
            self._parts = []
        elif piece:
            self._parts.append(piece)

    def _line(self) -> bytes | None:
        line = b"".join(self._parts) if self._length <= self._longest else None
        self._parts, self._length = [], 0
        return line


class Talk:
    """Lines in, answers out, in the format of the first line."""

    def __init__(self, delimiter: str | None, skip: int, before: int) -> None:
        from ..tables import LONGEST_LINE

        csv.field_size_limit(LONGEST_LINE)  # lines have a limit of their own
        self._delimiter = delimiter
        self._skip = skip
        self._number = before - skip
        self._goes_on = self._number > 0
        self._names: list[str] | None = None
        self._is_csv: bool | None = None
        self._header_said = False

    def bursts(self, stop: Any) -> Iterator[tuple[list[Any], int]]:
        """Rows, and the number of the first; as many together as are there."""
        from ..tables import LONGEST_LINE, TableError

        lines: list[bytes | None] = []
        splitter, source = LineSplitter(LONGEST_LINE), 0
        try:
            os.fstat(source)
        except OSError as error:
            raise TableError("standard input: it is closed; pipe lines into it.") from error
        while True:
            data = stop.read(source)
            if stop.asked:
                return
            lines += splitter.add(data) if data else splitter.end()
            ready = data and select.select([source], [], [], 0)[0]
            while len(lines) >= _LINES or (lines and not ready):
                some, lines = lines[:_LINES], lines[_LINES:]
                yield from self._rows(some)
                if stop.asked:
                    return
            if not data:
                return

    def _rows(self, lines: list[bytes | None]) -> Iterator[tuple[list[Any], int]]:
        head: list[None] = []  # lines that are counted, and not answered
        if self._is_csv is None:
            while lines and lines[0] is not None and not lines[0].strip():
                del lines[0]
                head.append(None)
            if lines:
                first = (lines[0] or b"").removeprefix(b"\xef\xbb\xbf")
                self._is_csv = lines[0] is not None and not first.lstrip().startswith(b"{")
                lines[0] = lines[0] if lines[0] is None else first
                if self._is_csv:
                    del lines[0]
                    head += [] if self._goes_on else [None]  # sent again, it is not counted again
                    self._begin_csv(first, self._number + len(head))
        rows = [*head, *map(self._row, lines)]
        passed = min(self._skip, len(rows))
        self._skip -= passed
        self._number += passed
        if rows[passed:]:
            first_number = self._number + 1
            self._number += len(rows) - passed
            yield rows[passed:], first_number

    def _begin_csv(self, line: bytes, number: int) -> None:
        """Take the names of the columns from their line."""
        from ..tables import TableError, check_column_names

        where = "standard input, line " + ("of names" if self._goes_on else f"{number:,}")
        try:
            text = line.decode("utf8")
            if self._delimiter is None:
                self._delimiter = max(",\t;|", key=text.count)
            self._names = [name.strip() for name in self._fields(text)]
        except UnicodeDecodeError as error:
            raise TableError(
                f"{where}: it is not text in UTF-8 ({error.reason}); pipe JSON objects, or CSV "
                "after a line of names."
            ) from error
        except csv.Error as error:
            raise TableError(
                f"{where}: it is neither a JSON object nor a line of names ({error})."
            ) from error
        check_column_names("standard input", self._names)

    def _row(self, line: bytes | None) -> Any:
        """A row, text that says what is wrong with it, or None for a line with nothing on it."""
        from ..tables import TOO_LONG, parsed_line

        if line is None:
            return TOO_LONG
        if not line.strip():
            return None
        return self._from_csv(line) if self._is_csv else parsed_line(line)

    def _fields(self, line: str) -> list[str]:
        return next(csv.reader([line.rstrip("\r")], delimiter=self._delimiter or ","), [])

    def _from_csv(self, line: bytes) -> Any:
        assert self._names is not None
        try:
            fields = self._fields(line.decode("utf8"))
        except (csv.Error, UnicodeDecodeError) as error:
            return f"it is not CSV ({error})"
        if len(fields) != len(self._names):
            return f"it has {len(fields)} fields instead of {len(self._names)}"
        return {name: field or None for name, field in zip(self._names, fields, strict=True)}

    def say(self, answers: list[dict[str, Any]]) -> None:
        if self._is_csv:
            columns = ["line", "id"] if any("id" in answer for answer in answers) else ["line"]
            columns += ["prediction", "error"]
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            if not self._header_said:
                writer.writerow(columns)
                self._header_said = True
            writer.writerows([answer.get(column) for column in columns] for answer in answers)
            text = out.getvalue()
            # Labels are another's text: a file gets them as they are, a terminal does not.
            sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
        else:
            sys.stdout.write("".join(_line(answer) for answer in answers))

    def flush(self) -> None:
        sys.stdout.flush()


def _line(answer: dict[str, Any]) -> str:
    if (
        len(answer) == 2 and type(answer.get("prediction")) is float
    ):  # the usual one, four times faster
        return f'{{"line": {answer["line"]}, "prediction": {answer["prediction"]!r}}}\n'
    return json.dumps(answer) + "\n"
