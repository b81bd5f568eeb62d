"""A model that follows another server: its snapshot, and then its log, over HTTP."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

from ..persistence import ModelFileError
from .log import Run
from .options import ServeError
from .service import Service, Snapshot

logger = logging.getLogger("greville.serve")

# Seconds without a word from the leader, which says something every second; and between tries.
_SILENCE, _BETWEEN = 10.0, 0.5

_REFRESH_ERRORS = (OSError, http.client.HTTPException, ValueError, ModelFileError)


class Replica(Service):
    """A model that learns what its leader has learned, and nothing else.

    Where the leader cannot be reached it goes on answering, and says how far it is behind.

    Parameters
    ----------
    leader : str
        The address of a server.
    name : str
        Of a model there.
    token : str, optional
        What that server wants.
    """

    def __init__(self, leader: str, name: str, token: str | None = None) -> None:
        super().__init__(leader, f"This server follows {leader}; send this request there.")
        self._token = token
        self._url = f"{leader}/models/{quote(name, safe='')}"
        self.leader_position, self.heard_at = 0, 0.0
        self._is_loaded = self._is_lost = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"replica of {name}", daemon=True)

    @property
    def behind(self) -> int:  # type: ignore[override]
        """Entries of the leader's log that are not learned here, as far as is known."""
        return max(self.leader_position - self.position, 0)

    @property
    def silence(self) -> float:  # type: ignore[override]
        """Seconds since the leader was heard."""
        return time.time() - self.heard_at

    def leader(self) -> dict[str, Any]:
        numbers = {"position": self.leader_position, "behind": self.behind}
        return {"url": self.path, **numbers, "seconds_since_heard": round(self.silence, 1)}

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(2.0)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if not self._is_loaded:
                    self._load()
                for event in self._events():
                    self._is_lost = False
                    self._take_event(event)
                    if self._stop.is_set():
                        return
            except urllib.error.HTTPError as error:
                error.close()
                self._is_loaded = self._is_loaded and error.code != 410  # it has another log
                self._say_once(f"it answers {error.code}")
            except _REFRESH_ERRORS as error:
                self._say_once(str(error) or type(error).__name__)
            except Exception:
                logger.exception("%s cannot be followed; it is loaded again.", self._url)
                self._is_loaded = False
            self._stop.wait(_BETWEEN)

    def _say_once(self, why: str) -> None:
        if not self._is_lost:
            logger.warning("%s is not heard (%s); it is asked again and again.", self._url, why)
        self._is_lost = True

    def _load(self) -> None:
        with fetched(f"{self._url}/model/file?log", self._token) as response:
            self.load(Snapshot.from_bytes(response.read()))
        self.leader_position, self.heard_at = self.position, time.time()
        self._is_loaded = True
        self.publish()

    def _events(self) -> Iterator[dict[str, Any]]:
        address = f"{self._url}/log?after={self.position}&log={self.log_uid}"
        with closing(fetched(address, self._token)) as response:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

    def _take_event(self, event: dict[str, Any]) -> None:
        self.leader_position, self.heard_at = event["position"], time.time()
        if event["run"] is None:
            return
        run = Run(**event["run"])
        if run.position - len(run.rows) != self.position:
            raise ValueError(f"the log goes on at {run.position:,}, not at {self.position:,}")
        self.replay(run)
        self.snapshot_position = run.position
        self.publish()


def fetched(address: str, token: str | None) -> Any:
    """A response of a server, which is to be closed."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(address, headers=headers)
    return urllib.request.urlopen(request, timeout=_SILENCE)


def open_replicas(leader: str, token: str | None = None) -> dict[str, Replica]:
    """Replicas of all models of a server, by their names.

    Raises
    ------
    ServeError
        If it cannot be reached.
    """
    leader = leader.rstrip("/")
    if not leader.startswith(("http://", "https://")):
        raise ServeError(f"follow={leader!r}: pass the address of a server, as http://host:8000.")
    try:
        with fetched(f"{leader}/models", token) as response:
            names = json.load(response)["models"]
    except (*_REFRESH_ERRORS, KeyError) as error:
        raise ServeError(f"follow={leader!r}: no server answers there ({error}).") from error
    return {name: Replica(leader, name, token) for name in names}
