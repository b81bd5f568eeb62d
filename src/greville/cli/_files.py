"""Files that commands read and write."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._options import OnError, ReadingOptions
from ._terminal import UserError, progress_bars


@dataclass
class InputTable:
    """Sources of rows, how to read them, and what counts the rows that cannot be used."""

    sources: Any
    how: Any
    row_errors: Any
    rows: int = 0  # that were read
    left_out: int = 0  # of these, by readers

    @classmethod
    def find(
        cls,
        data: list[str],
        reading: ReadingOptions,
        column: str | None = None,
        *,
        hints: Any = None,
        output: Path | None = None,
    ) -> InputTable:
        """Return the table of some files; a UserError if the output is one of the files.

        `hints` say how the columns are written, which --where compares.
        """
        from ..tables import RowErrors, find_sources

        row_errors = RowErrors(skip=reading.on_error == OnError.skip)
        table = cls(find_sources(data), reading.reading(column, hints), row_errors)
        table.check_apart(output)
        return table

    def check_apart(self, output: Path | None) -> None:
        """Raise a UserError if an output file is also read as input."""
        for source in self.sources if output is not None and output.exists() else ():
            local = source.path is not None and not source.remote
            if local and os.path.samefile(str(output), source.path):
                raise UserError(
                    f"{output}: it is one of the files to read; name another for output."
                )

    @property
    def can_be_read_again(self) -> bool:
        """Whether a file can be read again, which a pipe cannot."""
        return all(source.can_be_read_again for source in self.sources)

    def __iter__(self) -> Iterator[Any]:
        """Yield all rows in batches; each pass counts again the rows that the readers leave out."""
        self.row_errors.count, self.row_errors.reasons = 0, []
        with self.batches("reading", quiet=False) as batches:
            for batch in batches:
                self.row_errors.count_skipped(batch)
                yield batch

    @contextmanager
    def batches(self, doing: str, quiet: bool, *more: Any) -> Iterator[Iterator[Any]]:
        """Give all rows in batches, with a progress bar that names the work.

        `more` may be the columns that are needed, and a function that says whether to stop.
        """
        with closing(self._batches(doing, quiet, *more)) as batches:
            yield batches

    def _batches(self, doing: str, quiet: bool, *more: Any) -> Generator[Any]:
        from ..tables import read

        self.rows = self.left_out = 0
        sizes = {source.name: source.size for source in self.sources}
        done = dict.fromkeys(sizes, 0.0)
        with (
            closing(read(self.sources, self.how, self.row_errors, *more)) as batches,
            progress_bars(quiet) as (progress, _),
            progress(doing, sum(sizes.values())) as advance,
        ):
            for batch in batches:
                yield batch
                self.rows += len(batch)
                self.left_out += len(batch.skipped)
                advance((batch.done - done[batch.source]) * sizes[batch.source])
                done[batch.source] = batch.done


def read_table_model(path: Path, *, replaced: bool = False) -> tuple[Any, dict[str, Any], str]:
    """Read the table model of a file, the other content of the file, and the file's checksum.

    A file of a stream or a server is more than a model, and must not be `replaced` by one.
    """
    from ..persistence import open_file
    from ..tables import Stream, TableModel

    file = open_file(path)
    model, extra = file.model, file.extra or {}
    if isinstance(model, Stream):
        if replaced:
            what = "file of a server" if "serve" in extra else "checkpoint of a stream"
            raise UserError(
                f"{path}: it is the {what}, which would become a plain model; name another file "
                "with -o. (A server unlearns rows itself: POST /unlearn.)"
            )
        model = model.settled()
    if not isinstance(model, TableModel):
        raise UserError(
            f"{path}: it holds a {type(model).__name__} saved from Python; this command needs a "
            "model made by greville train or greville stream."
        )
    return model.settle(), extra, file.header["checksum"]


def load_table_model(path: Path, *, learned: bool = False) -> Any:
    """Read a table model from a file; if it must have `learned`, one without rows is refused."""
    model = read_table_model(path)[0]
    if learned and model.n_rows == 0:
        raise UserError(f"{path}: it has learned no rows; there is nothing to predict from.")
    return model


def check_writable(*paths: Path | None) -> None:
    """Check that files can be written to a path before hours of work."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise UserError(f"{path}: it is a folder; name a file in it.")
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: it is not a plain file; name another.")
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise UserError(f"{path}: the folder {folder} does not exist; create it first.")
        if not os.access(folder, os.W_OK):
            raise UserError(f"{path}: no permission to write in {folder}; check its permissions.")


def check_picture(path: Path | None) -> None:
    """Check that a picture can be written, before the long work begins."""
    check_writable(path)
    if path is not None and path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"--plot {path}: end its name in .png, .svg or .pdf.")


def save_picture(figure: Any, path: Path) -> None:
    """Write a picture, whole or not at all."""
    from ..persistence import whole_file

    with whole_file(path) as new:
        figure.savefig(new, format=path.suffix.lower()[1:], dpi=150)
