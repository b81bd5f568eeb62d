"""The log of a served model: what was learned, in order, and rows that wait for their targets.

It is a database of SQLite. A transaction is on the disk when `commit` returns (unless `sync` is
false): then, and not before, requests are acknowledged.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

# "grev": other databases are refused.
_APPLICATION, _FORMAT = 0x67726576, 2

# Pages after which SQLite moves what was written into the main file: 16 MB.
_CHECKPOINT_PAGES = 4000

# Entries read at a time when they are learned again, and bytes of the largest base.
_AT_ONCE, _LARGEST_BASE = 1024, 1 << 29

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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
CREATE TABLE bases (           -- snapshots from which earlier states are learned again
    position INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    model BLOB NOT NULL
);
CREATE TABLE waiting (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    row TEXT NOT NULL,
    prediction TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX waiting_by_time ON waiting (at);
CREATE TABLE requests (
    key TEXT PRIMARY KEY,       -- of Idempotency-Key
    at REAL NOT NULL,
    digest TEXT NOT NULL,       -- of what was asked
    answer TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX requests_by_time ON requests (at);
"""

# Entries with rows that were unlearned and are still there. They have an index, since they are
# looked for every minute; a log from before it gets it at the start.
_TO_ERASE = "action = 'unlearn' AND row IS NOT NULL"
_INDEX_TO_ERASE = f"CREATE INDEX IF NOT EXISTS to_erase ON entries (position) WHERE {_TO_ERASE}"

# Runs of a log that are sent at a time.
_RUNS_AT_ONCE = 8

# Behind all positions
_NO_END = (1 << 63) - 1

Row = dict[str, Any]


class LogError(Exception):
    """The log cannot be read or written, for the reason given."""


LOG_ERRORS = (LogError, sqlite3.Error)


class Run(NamedTuple):
    """Rows that were learned, or unlearned, one after the other; and where they end.

    `given` are predictions from before their targets came, None for most; `joined` says of each
    row whether it came in one request with the row before it.
    """

    action: str
    rows: list[Row]
    given: list[Any]
    joined: list[bool]
    position: int


class Kept(NamedTuple):
    """A row that waits for its target, and what was predicted for it."""

    row: Row
    prediction: Any


class LogReader:
    """What stands in a log, which another thread or process may write at the same time.

    Parameters
    ----------
    path : path-like
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._db = self._connect()
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            self._prepare()
            self.uid: str = self._one("SELECT value FROM about WHERE name = 'uid'")
            self.position: int = self._one("SELECT max(position) FROM entries") or 0
        except BaseException as error:
            self._db.close()
            if isinstance(error, sqlite3.Error):
                raise self._unusable(error) from error
            raise

    def _connect(self) -> sqlite3.Connection:
        address = f"{self.path.absolute().as_uri()}?mode=ro"
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)

    def _prepare(self) -> None:
        """Look whether it is a log."""
        if self._pragma("application_id") != _APPLICATION:
            raise LogError(f"{self.path}: it is a database, and no log of greville serve.")
        if self._pragma("user_version") != _FORMAT:
            raise LogError(f"{self.path}: it was not written by this version of greville serve.")

    def _unusable(self, error: Exception) -> LogError:
        return LogError(
            f"{self.path}: it cannot be used as a log ({error}); put back a copy of it, or move it "
            "away."
        )

    def _pragma(self, name: str) -> Any:
        return self._one(f"PRAGMA {name}")

    def _one(self, query: str, *values: Any) -> Any:
        found = self._db.execute(query, values).fetchone()
        return None if found is None else found[0]

    def runs(self, after: int, until: int | None = None) -> Iterator[Run]:
        """What stands behind a position: rows to learn, some at a time; to unlearn, by request."""
        found = self._db.execute(
            "SELECT position, action, request, row, prediction FROM entries WHERE position > ? "
            "AND position <= ? ORDER BY position",
            (after, _NO_END if until is None else until),
        )
        last_request = self._one("SELECT request FROM entries WHERE position = ?", after)
        run = Run("", [], [], [], after)
        for position, action, request, row, given in found:
            if position != run.position + 1:
                raise LogError(
                    f"{self.path}: the entries between positions {run.position:,} and "
                    f"{position:,} are not there; put back a model file that has them, or the log."
                )
            is_whole = len(run.rows) == _AT_ONCE if action == "learn" else request != last_request
            if run.rows and (action != run.action or is_whole):
                yield run
                run = Run("", [], [], [], run.position)
            run.rows.append(self._parsed(position, row))
            run.given.append(None if given is None else json.loads(given))
            run.joined.append(request == last_request)
            run, last_request = run._replace(action=action, position=position), request
        if run.rows:
            yield run

    def _parsed(self, position: int, row: str | None) -> Row:
        try:
            found = None if row is None else json.loads(row)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise LogError(
                f"{self.path}: the row at position {position:,} is damaged or was erased; put back "
                "a copy of the log, or a model file that has this row."
            )
        return found

    def next_runs(self, after: int) -> list[Run]:
        """The first of them; without any the log has not gone on."""
        return list(islice(self.runs(after), _RUNS_AT_ONCE))

    def reaches(self, after: int) -> bool:
        """Whether all that stands behind a position is there."""
        query = "SELECT count(*), count(row) FROM entries WHERE position > ?"
        n, whole = self._db.execute(query, (after,)).fetchone()
        end = self._one("SELECT max(position) FROM entries") or 0
        return n == whole == end - after

    def position_at(self, at: float) -> int:
        """The last position at a time, in seconds since 1970."""
        return self._one("SELECT max(position) FROM entries WHERE at <= ?", at) or 0

    def base(self, position: int, at: float = math.inf) -> tuple[int, bytes]:
        """The last base up to a position and a time; a LogError if there is none."""
        query = "SELECT position, model FROM bases WHERE position <= ? AND at <= ? "
        found = self._db.execute(query + "ORDER BY position DESC", (position, at)).fetchone()
        if found is None:
            first = self._db.execute("SELECT min(position), min(at) FROM bases").fetchone()
            since = "" if first[0] is None else f" than position {first[0]:,}, {_clock(first[1])}"
            raise LogError(
                f"{self.path}: it reaches back no further{since or ' than its end'}: what was "
                "before was deleted (--keep-log), or erased when rows were unlearned."
            )
        return found[0], found[1]

    def close(self) -> None:
        self._db.close()


class Log(LogReader):
    """The log of one model. One thread at a time uses it.

    Parameters
    ----------
    path : path-like
        Made if it is not there, readable by its owner only.
    sync : bool
        Whether `commit` waits for the disk. Without it the last rows may be lost when the machine
        stops, but not when the process does.
    """

    def __init__(self, path: str | os.PathLike[str], *, sync: bool = True) -> None:
        self._sync = sync
        super().__init__(path)
        self.n_waiting: int = self._one("SELECT count(*) FROM waiting")

    def _connect(self) -> sqlite3.Connection:
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)

    def _prepare(self) -> None:
        db, kind = self._db, self._pragma("application_id")
        if kind == 0 and not self._one("SELECT count(*) FROM sqlite_master"):
            db.execute("PRAGMA page_size = 4096")
            db.execute("BEGIN IMMEDIATE")
            for statement in _TABLES.split(";\n"):
                db.execute(statement)
            db.execute("INSERT INTO about VALUES ('uid', ?)", (secrets.token_hex(16),))
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {_FORMAT}")
            db.execute("COMMIT")
        elif kind != _APPLICATION or self._pragma("user_version") != _FORMAT:
            raise LogError(f"{self.path}: it was not written by this version of greville serve.")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(_INDEX_TO_ERASE)
        db.execute(f"PRAGMA synchronous = {'FULL' if self._sync else 'NORMAL'}")
        db.execute("PRAGMA secure_delete = ON")  # what is erased is not left on the disk
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")

    # Transactions

    def begin(self) -> None:
        self._before = self.position, self.n_waiting
        self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Everything since `begin` is on the disk when this returns; else a LogError, and none."""
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self.rollback()
            raise LogError(f"{self.path}: it cannot be written ({error}).") from error

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self.position, self.n_waiting = self._before

    def begin_part(self) -> None:
        """The beginning of a part that may be taken back alone."""
        self._before_part = self.position, self.n_waiting
        self._db.execute("SAVEPOINT part")

    def end_part(self) -> None:
        self._db.execute("RELEASE part")

    def take_back_part(self) -> None:
        self._db.execute("ROLLBACK TO part")
        self._db.execute("RELEASE part")
        self.position, self.n_waiting = self._before_part

    # Entries

    def append(
        self,
        action: str,
        ids: Sequence[str | None],
        rows: Sequence[Row],
        at: float,
        given: Sequence[Any] = (),
    ) -> int:
        """Add a row each, with the predictions that were given before; the position of the last."""
        first = self.position + 1
        told = [None if each is None else json.dumps(each) for each in given or [None] * len(rows)]
        self._db.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (first + k, at, action, first, id, json.dumps(row), each)
                for k, (id, row, each) in enumerate(zip(ids, rows, told, strict=True))
            ],
        )
        self.position += len(rows)
        return self.position

    def learned(self, id: str) -> Row | None:
        """The row with this id, if it was learned and not unlearned since."""
        found = self._db.execute(
            "SELECT action, row FROM entries WHERE id = ? ORDER BY position DESC LIMIT 1", (id,)
        ).fetchone()
        return None if found is None or found[0] != "learn" else json.loads(found[1])

    def erase_unlearned(self, until: int) -> bool:
        """Erase rows that were unlearned, where a snapshot has what was learned until then.

        Whether there were any. Rows without an id are found if they were written alike when they
        were learned.
        """
        found = self._db.execute(
            f"SELECT position, id, row FROM entries WHERE {_TO_ERASE} AND position <= ? "
            "ORDER BY position",
            (until,),
        ).fetchall()
        alike = self._learned_alike(until) if any(id is None for _, id, _ in found) else {}
        for position, id, row in found:
            if id is None:
                places = alike.get(row)
                earlier = [places.popleft()] if places and places[0] < position else []
                which, values = "position = ?", earlier
            else:
                which, values = "id = ? AND position <= ?", [id, position]
            if values:
                self._db.execute(
                    f"UPDATE entries SET row = NULL, prediction = NULL WHERE {which}", values
                )
            self._db.execute("UPDATE entries SET row = NULL WHERE position = ?", (position,))
        return bool(found)

    def _learned_alike(self, until: int) -> dict[str, deque[int]]:
        """Where rows were learned that are written like those to erase; the log is read once."""
        found = self._db.execute(
            "SELECT row, position FROM entries WHERE action = 'learn' AND position <= ? AND row IN "
            f"(SELECT row FROM entries WHERE {_TO_ERASE} AND position <= ? AND id IS NULL) "
            "ORDER BY position",
            (until, until),
        )
        places: dict[str, deque[int]] = {}
        for row, position in found:
            places.setdefault(row, deque()).append(position)
        return places

    # Rows that wait for their targets

    def keep(self, id: str, row: Row, prediction: Any, at: float) -> None:
        """Keep a row until its target comes; one that is there already is replaced."""
        is_new = self.kept(id) is None
        self._db.execute(
            "INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?)",
            (id, at, json.dumps(row), json.dumps(prediction)),
        )
        self.n_waiting += is_new

    def kept(self, id: str) -> Kept | None:
        found = self._db.execute(
            "SELECT row, prediction FROM waiting WHERE id = ?", (id,)
        ).fetchone()
        return None if found is None else Kept(*map(json.loads, found))

    def drop_kept(self, id: str) -> None:
        self.n_waiting -= self._db.execute("DELETE FROM waiting WHERE id = ?", (id,)).rowcount

    # Requests that may be repeated

    def answer_to(self, key: str) -> tuple[str, Any] | None:
        """What was asked with a key, as a digest, and the answer."""
        query = "SELECT digest, answer FROM requests WHERE key = ?"
        found = self._db.execute(query, (key,)).fetchone()
        return None if found is None else (found[0], json.loads(found[1]))

    def remember(self, key: str, digest: str, answer: Any, at: float) -> None:
        self._db.execute(
            "INSERT INTO requests VALUES (?, ?, ?, ?)", (key, at, digest, json.dumps(answer))
        )

    def forget(self, before: float) -> int:
        """Drop waiting rows and keys that are older; how many rows."""
        n = self._db.execute("DELETE FROM waiting WHERE at < ?", (before,)).rowcount
        self._db.execute("DELETE FROM requests WHERE at < ?", (before,))
        self.n_waiting -= n
        return n

    def trim(self, before: float) -> None:
        """Delete what is not needed for the states since a time; the last entry stays."""
        base = self._one("SELECT max(position) FROM bases WHERE at <= ?", before) or 0
        self._db.execute("DELETE FROM bases WHERE position < ?", (base,))
        last = min(base, self.position - 1)
        self._db.execute("DELETE FROM entries WHERE position <= ?", (last,))

    # Bases

    def add_base(self, position: int, at: float, model: bytes) -> None:
        """Keep a snapshot, from which later states can be learned again; none that is too large."""
        if len(model) <= _LARGEST_BASE:
            self._db.execute("INSERT OR REPLACE INTO bases VALUES (?, ?, ?)", (position, at, model))

    def last_base_at(self) -> float:
        """When the last of them was written; long ago, if there is none."""
        return self._one("SELECT max(at) FROM bases") or 0.0

    def drop_bases(self) -> None:
        """Erase all of them."""
        self._db.execute("DELETE FROM bases")


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).isoformat(" ", "seconds")
