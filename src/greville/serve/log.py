"""The log of a served model: what was learned, in order, and rows that wait for their targets.

It is a database of SQLite. A transaction is on the disk when it ends (unless `sync` is false):
then, and not before, requests are acknowledged.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

# "grev", by which a log is known, and the number of its tables' form.
_FORMAT = (0x67726576, 4)

# Entries read at a time when they are learned again, and bytes of the largest base.
_AT_ONCE, _LARGEST_BASE = 1024, 1 << 29

_NEW = f"""
BEGIN IMMEDIATE;
CREATE TABLE about (uid TEXT NOT NULL);
INSERT INTO about VALUES (lower(hex(randomblob(16))));
CREATE TABLE entries (
    position INTEGER PRIMARY KEY,
    at REAL NOT NULL,           -- seconds since 1970
    action TEXT NOT NULL,       -- 'learn' or 'unlearn'
    request INTEGER NOT NULL,   -- the first position of the same request
    id TEXT,                    -- of the row, as JSON
    row TEXT,                   -- the whole row with its target, as JSON; NULL once it was erased
    prediction TEXT             -- that was given before its target came, as JSON
);
CREATE INDEX entries_by_id ON entries (id, position) WHERE id IS NOT NULL;
CREATE INDEX entries_to_erase ON entries (position) WHERE action = 'unlearn' AND row IS NOT NULL;
CREATE TABLE bases (           -- snapshots from which earlier states are learned again
    position INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    model BLOB NOT NULL
);
CREATE TABLE kept (            -- for a time
    kind TEXT NOT NULL,         -- 'row' that waits for its target, or 'request' that was answered
    key TEXT NOT NULL,          -- the row's id as JSON, or the Idempotency-Key
    at REAL NOT NULL,
    content TEXT NOT NULL,      -- row and prediction, or digest and answer, as JSON
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX kept_by_time ON kept (at);
PRAGMA application_id = {_FORMAT[0]};
PRAGMA user_version = {_FORMAT[1]};
COMMIT;
"""

# What is erased is not left on the disk. 4000 pages are written again at a time: 16 MB.
_SETTINGS = """
PRAGMA journal_mode = WAL;
PRAGMA secure_delete = ON;
PRAGMA wal_autocheckpoint = 4000;
"""

# Rows that were unlearned and are still there.
_TO_ERASE = "action = 'unlearn' AND row IS NOT NULL AND position <= :until"

# They, and where they were learned: rows with the same id, and without ids those that are written
# alike. A snapshot knows of them; no start reads them again.
_ERASE = f"""
WITH gone AS (SELECT position, id, row FROM entries WHERE {_TO_ERASE})
UPDATE entries SET row = NULL, prediction = NULL WHERE position IN (
    SELECT entries.position FROM gone JOIN entries ON entries.id = gone.id
    WHERE entries.position <= gone.position
    UNION ALL
    SELECT position FROM entries
    WHERE id IS NULL AND row IN (SELECT row FROM gone) AND position <= :until
)"""

Row = dict[str, Any]
Kind = Literal["row", "request"]


class LogError(Exception):
    """The log cannot be read or written, for the reason given."""


LOG_ERRORS = (LogError, sqlite3.Error)


class Run(NamedTuple):
    """Rows that were learned, or unlearned, one after the other; and where they end.

    `predictions` are those from before their targets came, None for most; `together` says of each
    row whether it came in one request with the row before it.
    """

    action: str
    rows: list[Row]
    predictions: list[Any]
    together: list[bool]
    position: int


class Log:
    """The log of one model. One thread at a time uses it; others may read it at the same time.

    Parameters
    ----------
    path : path-like
        Made if it is not there, readable by its owner only.
    sync : bool
        Whether a transaction waits for the disk. Without it the last rows may be lost when the
        machine stops, but not when the process does.
    read_only : bool
    """

    def __init__(
        self, path: str | os.PathLike[str], *, sync: bool = True, read_only: bool = False
    ) -> None:
        self.path = Path(path)
        address = f"{self.path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
        try:
            if not read_only:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            self._db = sqlite3.connect(
                address, uri=True, isolation_level=None, check_same_thread=False
            )
            if not (read_only or self._one("SELECT count(*) FROM sqlite_master")):
                self._db.executescript(_NEW)
            if (self._one("PRAGMA application_id"), self._one("PRAGMA user_version")) != _FORMAT:
                raise sqlite3.DatabaseError("it is none of this version of greville serve")
            if not read_only:
                level = "FULL" if sync else "NORMAL"
                self._db.executescript(f"{_SETTINGS} PRAGMA synchronous = {level}")
            self.uid: str = self._one("SELECT uid FROM about")
            self.position: int = self._one("SELECT max(position) FROM entries") or 0
            self.n_waiting: int = self._one("SELECT count(*) FROM kept WHERE kind = 'row'")
        except (OSError, sqlite3.Error) as error:
            if hasattr(self, "_db"):
                self._db.close()
            what = f"it cannot be used as a log ({error}); put back a copy of it, or move it away"
            raise LogError(f"{self.path}: {what}.") from error

    def close(self) -> None:
        self._db.close()

    def _one(self, query: str, *values: Any) -> Any:
        row = self._db.execute(query, values).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block whose changes all reach the disk at its end, or none; blocks may be nested."""
        before = self.position, self.n_waiting
        self._db.execute("SAVEPOINT part")
        try:
            yield
            self._db.execute("RELEASE part")
        except BaseException:
            self.position, self.n_waiting = before
            with suppress(sqlite3.Error):  # there is none any more, if the disk is full
                self._db.execute("ROLLBACK TO part")
                self._db.execute("RELEASE part")
            raise

    # Entries

    def append(
        self, action: str, request: int, id: str | None, row: Row, at: float, prediction: Any = None
    ) -> int:
        """Append a row of the request that began at a position; return the row's position."""
        self.position += 1
        text = None if prediction is None else json.dumps(prediction)
        self._db.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.position, at, action, request, id, json.dumps(row), text),
        )
        return self.position

    def learned(self, id: str) -> Row | None:
        """Return the learned row with this id; None if it is unknown or was unlearned."""
        entry = self._db.execute(
            "SELECT action, row FROM entries WHERE id = ? ORDER BY position DESC LIMIT 1", (id,)
        ).fetchone()
        return None if entry is None or entry[0] != "learn" else json.loads(entry[1])

    def runs(self, after: int, until: int = (1 << 63) - 1) -> Iterator[Run]:
        """Yield entries after a position: rows to learn, some at a time; to unlearn, by request."""
        entries = self._db.execute(
            "SELECT position, action, request, row, prediction FROM entries WHERE position > ? "
            "AND position <= ? ORDER BY position",
            (after, until),
        )
        last_request = self._one("SELECT request FROM entries WHERE position = ?", after)
        run = Run("", [], [], [], after)
        for position, action, request, row, prediction in entries:
            if position != run.position + 1:
                where = f"between positions {run.position:,} and {position:,}"
                what = "are not there; put back a model file that has them, or the log"
                raise LogError(f"{self.path}: the entries {where} {what}.")
            is_whole = len(run.rows) == _AT_ONCE if action == "learn" else request != last_request
            if run.rows and (action != run.action or is_whole):
                yield run
                run = Run("", [], [], [], run.position)
            run.rows.append(self._parsed(position, row))
            run.predictions.append(None if prediction is None else json.loads(prediction))
            run.together.append(request == last_request)
            run, last_request = run._replace(action=action, position=position), request
        if run.rows:
            yield run

    def _parsed(self, position: int, row: str | None) -> Row:
        with suppress(ValueError, TypeError):  # TypeError: it was erased
            parsed = json.loads(row)  # type: ignore[arg-type]
            if isinstance(parsed, dict):
                return parsed
        where = f"the row at position {position:,}"
        what = "put back a copy of the log, or a model file that has this row"
        raise LogError(f"{self.path}: {where} is damaged or was erased; {what}.")

    def erase_unlearned(self, until: int) -> bool:
        """Erase rows that were unlearned, where a snapshot has what was learned until then.

        And the snapshots in the log, which have learned these rows. Return whether there were any.
        """
        values = {"until": until}
        if not self._db.execute(f"SELECT 1 FROM entries WHERE {_TO_ERASE}", values).fetchone():
            return False
        self._db.execute(_ERASE, values)
        self._db.execute("DELETE FROM bases")
        return True

    def trim(self, before: float) -> None:
        """Delete snapshots and entries that no state since a time needs; the last entry stays."""
        base = self._one("SELECT max(position) FROM bases WHERE at <= ?", before) or 0
        self._db.execute("DELETE FROM bases WHERE position < ?", (base,))
        last = min(base, self.position - 1)
        self._db.execute("DELETE FROM entries WHERE position <= ?", (last,))

    # Rows that wait for their targets, and requests that may be repeated

    def keep(self, kind: Kind, key: str, content: Sequence[Any], at: float) -> None:
        """Keep a row and its prediction, or a request's digest and its answer, for some time."""
        self.drop_kept(kind, key)
        self._db.execute(
            "INSERT INTO kept VALUES (?, ?, ?, ?)", (kind, key, at, json.dumps(content))
        )
        self.n_waiting += kind == "row"

    def kept(self, kind: Kind, key: str) -> Any:
        """Return what is kept under a key; None if there is nothing."""
        content = self._one("SELECT content FROM kept WHERE kind = ? AND key = ?", kind, key)
        return None if content is None else json.loads(content)

    def drop_kept(self, kind: Kind, key: str) -> None:
        query = "DELETE FROM kept WHERE kind = ? AND key = ?"
        n = self._db.execute(query, (kind, key)).rowcount
        self.n_waiting -= n if kind == "row" else 0

    def forget(self, before: float) -> int:
        """Drop rows and requests older than a time; return the number of dropped rows."""
        self._db.execute("DELETE FROM kept WHERE at < ? AND kind = 'request'", (before,))
        n = self._db.execute("DELETE FROM kept WHERE at < ?", (before,)).rowcount
        self.n_waiting -= n
        return n

    # Bases

    def position_at(self, at: float) -> int:
        """Return the last log position at a time, in seconds since 1970."""
        return self._one("SELECT max(position) FROM entries WHERE at <= ?", at) or 0

    def base(self, position: int, at: float = math.inf) -> bytes:
        """Return the last snapshot up to a position and a time; a LogError if there is none."""
        query = "SELECT model FROM bases WHERE position <= ? AND at <= ? ORDER BY position DESC"
        base = self._one(query, position, at)
        if base is None:
            oldest = self._db.execute("SELECT min(position), min(at) FROM bases").fetchone()
            since = (
                "its end" if oldest[0] is None else f"position {oldest[0]:,}, {_clock(oldest[1])}"
            )
            why = "what was before was deleted (--keep-log), or erased when rows were unlearned"
            raise LogError(f"{self.path}: it reaches back no further than {since}: {why}.")
        return base

    def add_base(self, position: int, at: float, model: bytes) -> None:
        """Keep a snapshot, from which later states can be learned again; none that is too large."""
        if len(model) <= _LARGEST_BASE:
            self._db.execute("INSERT OR REPLACE INTO bases VALUES (?, ?, ?)", (position, at, model))

    def last_base_at(self) -> float:
        """Return the time of the last snapshot in the log; zero if there is none."""
        return self._one("SELECT max(at) FROM bases") or 0.0


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).isoformat(" ", "seconds")
