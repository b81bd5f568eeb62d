"""A model that follows another server: its snapshot, and then its log, over HTTP."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from ..persistence import ModelFileError
from .log import Run
from .parameters import ServeError
from .service import Service, Snapshot

logger = logging.getLogger("greville.serve")

# Seconds in which the leader answers (it says each second that there is nothing new), and seconds
# between two tries.
_SILENCE, _BETWEEN = 10.0, 0.5

_REFRESH_ERRORS = (OSError, http.client.HTTPException, ValueError, KeyError, ModelFileError)


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
                if self._is_loaded:
                    self._follow()
                else:
                    self._load()
                self._is_lost = False
                continue
            except urllib.error.HTTPError as error:
                error.close()
                self._is_loaded = self._is_loaded and error.code != 410  # it has another log
                self._warn(f"it answers {error.code}")
            except _REFRESH_ERRORS as error:
                self._warn(str(error) or type(error).__name__)
            except Exception:
                logger.exception("%s cannot be followed; it is loaded again.", self._url)
                self._is_loaded = False
            self._stop.wait(_BETWEEN)

    def _warn(self, why: str) -> None:
        """Log that the leader is not heard, once."""
        if not self._is_lost:
            logger.warning("%s is not heard (%s); it is asked again and again.", self._url, why)
        self._is_lost = True

    def _load(self) -> None:
        self.load(Snapshot.from_bytes(fetched(f"{self._url}/model/file?log", self._token)))
        self.leader_position, self.heard_at = self.position, time.time()
        self._is_loaded = True
        self.publish()

    def _follow(self) -> None:
        """Learn what comes next in the leader's log."""
        address = f"{self._url}/log?after={self.position}&log={self.log_uid}"
        answer = json.loads(fetched(address, self._token))
        self.leader_position, self.heard_at = answer["position"], time.time()
        for run in (Run(**fields) for fields in answer["runs"]):
            if run.position - len(run.rows) != self.position:
                raise ValueError(f"the log goes on at {run.position:,}, not at {self.position:,}")
            self.replay(run)
            self.snapshot_position = run.position
            self.publish()


def fetched(address: str, token: str | None) -> bytes:
    """The body of a server's answer."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=_SILENCE) as response:
        content: bytes = response.read()
        return content


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
        names = json.loads(fetched(f"{leader}/models", token))["models"]
    except _REFRESH_ERRORS as error:
        raise ServeError(f"follow={leader!r}: no server answers there ({error}).") from error
    return {name: Replica(leader, name, token) for name in names}
