"""The table that a command reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._errors import UserError
from ._options import ReadingOptions
from ._progress import rows_bar


@dataclass
class InputTable:
    """Sources of rows, how to read them, and what counts the rows that cannot be used."""

    sources: Any
    how: Any
    troubles: Any
    rows: int = 0  # that were read
    left_out: int = 0  # of these, by readers

    @classmethod
    def find(
        cls,
        data: list[str],
        reading: ReadingOptions,
        column: str | None = None,
        *,
        output: Path | None = None,
    ) -> InputTable:
        """The table of some files, of which none is the output."""
        from ..tables import find_sources

        found = cls(None, reading.reading(column), reading.troubles())
        found.sources = find_sources(data)
        found.check_apart(output)
        return found

    def check_apart(self, output: Path | None) -> None:
        """The files that are read must not be overwritten."""
        for source in self.sources if output is not None and output.exists() else ():
            local = source.path is not None and not source.remote
            if local and os.path.samefile(str(output), source.path):
                raise UserError(
                    f"{output}: it is one of the files to read; name another for output."
                )

    @property
    def can_be_read_again(self) -> bool:
        """Whether it is not in a pipe."""
        return all(source.can_be_read_again for source in self.sources)

    @contextmanager
    def batches(
        self,
        doing: str,
        quiet: bool,
        columns: Any = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[Iterator[Any]]:
        """All rows in batches, with a bar that says what is done with them."""
        from ..tables import read

        self.rows = self.left_out = 0
        found = read(self.sources, self.how, self.troubles, columns, stopped)
        with closing(found), rows_bar(quiet, doing, self.sources) as advance:

            def counted() -> Iterator[Any]:
                for batch in found:
                    yield batch
                    self.rows += len(batch)
                    self.left_out += len(batch.skipped)
                    advance(batch, self.rows)

            yield counted()
