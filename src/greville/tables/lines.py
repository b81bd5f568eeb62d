"""Lines of a stream as rows, and answers as lines: JSON objects, or CSV after a line of names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from .batch import TableError, check_column_names
from .readers.json import LONGEST_LINE, TOO_LONG, parsed_line
from .readers.layout import recognised_delimiter
from .readers.source import Reading


class LineSplitter:
    """Bytes as they come, cut into lines; of one that is too long only that it was is kept."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, data: bytes) -> list[bytes | None]:
        """The lines that are now whole; None for one that was too long."""
        *whole, end = data.split(b"\n")
        lines: list[bytes | None] = []
        for piece in whole:
            self._keep(piece)
            lines.append(self._line())
        self._keep(end)
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


class StreamLines:
    """Rows from lines, and answers as lines in the same format: that of the first line.

    Parameters
    ----------
    delimiter : str, optional
        Between the fields of CSV; found in the line of names by default.
    skip : int
        How many of the first lines were answered in an earlier run, and are sent again.
    before : int
        How many lines were answered in earlier runs.
    added : sequence of str
        What answers have beside the prediction: "std" or "proba".
    """

    def __init__(
        self,
        delimiter: str | None = None,
        skip: int = 0,
        before: int = 0,
        added: Sequence[str] = (),
    ) -> None:
        csv.field_size_limit(LONGEST_LINE)  # lines have a limit of their own
        self._delimiter = Reading(delimiter=delimiter).delimiter
        self._skip = skip
        self._number = before - skip
        self._continues = self._number > 0
        self._names: list[str] | None = None
        self.is_csv: bool | None = None  # once there was a line
        self._header_written = False
        self._added = list(added)

    def rows(self, lines: list[bytes | None]) -> tuple[list[Any], int]:
        """Rows as `Stream.answers` takes them, and the number of the first.

        A line that was too long is None in `lines`; text in the place of a row says what is wrong
        with it, and None is a line that gets no answer.
        """
        head: list[None] = []  # lines that are counted, and not answered
        if self.is_csv is None:
            lines = list(lines)
            while lines and lines[0] is not None and not lines[0].strip():
                del lines[0]
                head.append(None)
            if lines:
                start = (lines[0] or b"").removeprefix(b"\xef\xbb\xbf")
                self.is_csv = lines[0] is not None and not _is_json(start)
                lines[0] = lines[0] if lines[0] is None else start
                if self.is_csv:
                    del lines[0]
                    head += [] if self._continues else [None]  # sent again, it is not counted again
                    self._read_names(start, self._number + len(head))
        rows = [*head, *map(self._row, lines)]
        passed = min(self._skip, len(rows))
        self._skip -= passed
        first_number = self._number + passed + 1
        self._number += len(rows)
        return rows[passed:], first_number

    def _read_names(self, line: bytes, number: int) -> None:
        """Take the names of the columns from their line."""
        where = "standard input, line " + ("of names" if self._continues else f"{number:,}")
        try:
            text = line.decode("utf8")
            if self._delimiter is None:
                self._delimiter = recognised_delimiter([text])
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
        """A row, text that says what is wrong with it, or None for an empty line."""
        if line is None:
            return TOO_LONG
        if not line.strip():
            return None
        return self._from_csv(line) if self.is_csv else parsed_line(line)

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

    def text_of(self, answers: list[dict[str, Any]]) -> str:
        """The text of answers, a line each."""
        if not self.is_csv:
            return "".join(map(_json_line, answers))
        columns = ["line", "id"] if any("id" in answer for answer in answers) else ["line"]
        columns += ["prediction", *self._added, "error"]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if not self._header_written:
            writer.writerow(columns)
            self._header_written = True
        writer.writerows([_csv_field(answer.get(name)) for name in columns] for answer in answers)
        return out.getvalue()


def _is_json(first: bytes) -> bool:
    """Whether the first line of a stream is JSON, or meant to be; else it has names of columns."""
    if not first.lstrip().startswith(b"["):
        return first.lstrip().startswith(b"{")
    try:
        json.loads(first)
    except ValueError:  # a name may be in brackets
        return False
    return True


def _csv_field(value: Any) -> Any:
    """A field of CSV; probabilities, whose classes may come at any time, as a JSON object."""
    return json.dumps(value) if isinstance(value, dict) else value


def _json_line(answer: dict[str, Any]) -> str:
    if len(answer) == 2 and type(answer.get("prediction")) is float:  # four times as fast
        return f'{{"line": {answer["line"]}, "prediction": {answer["prediction"]!r}}}\n'
    return json.dumps(answer) + "\n"
