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
from .learning import Learning
from .limits import Limits
from .log import Run
from .opening import ServeError
from .reader import Reader, opened_model

logger = logging.getLogger("greville.serve")

# Seconds without a word from the leader, which says something every second; and between tries.
_SILENCE, _BETWEEN = 10.0, 0.5

_TROUBLES = (OSError, http.client.HTTPException, ValueError, ModelFileError)


class Replica(Reader):
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
        super().__init__(
            leader,
            f"This server follows {leader} and learns nothing itself; send this request there.",
        )
        self.leader, self._token = leader, token
        self._url = f"{leader}/models/{quote(name, safe='')}"
        self.leader_position, self.heard_at = 0, 0.0
        self._uid = ""
        self._learning: Learning | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"replica of {name}", daemon=True)

    @property
    def behind(self) -> int:
        """Entries of the leader's log that are not learned here, as far as is known."""
        return max(self.leader_position - self.position, 0)

    @property
    def silence(self) -> float:
        """Seconds since the leader was heard."""
        return time.time() - self.heard_at

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(2.0)

    def _run(self) -> None:
        lost = False
        while not self._stop.is_set():
            try:
                if self._learning is None:
                    self._load()
                for event in self._events():
                    lost = False
                    self._take_event(event)
                    if self._stop.is_set():
                        return
            except urllib.error.HTTPError as error:
                with error:
                    if error.code == 410:  # it has another log, or what came next was erased
                        self._learning = None
                        continue
                    lost = self._say_once(lost, f"it answers {error.code}")
            except _TROUBLES as error:
                lost = self._say_once(lost, str(error) or type(error).__name__)
            except Exception:
                logger.exception("%s cannot be followed; it is loaded again.", self._url)
                self._learning = None
            self._stop.wait(_BETWEEN)

    def _say_once(self, lost: bool, why: str) -> bool:
        if not lost:
            logger.warning("%s is not heard (%s); it is asked again and again.", self._url, why)
        return True

    def _load(self) -> None:
        with fetched(f"{self._url}/model/file?log", self._token) as response:
            content, uid = response.read(), response.headers["Greville-Log"]
        stream, position, record = opened_model(content, None)
        self._uid, self._learning = uid, Learning(stream, None, record, Limits())  # type: ignore[arg-type]
        self.leader_position = max(position, self.leader_position if uid == self._uid else 0)
        self.heard_at = time.time()
        self.take(stream, position, record)

    def _events(self) -> Iterator[dict[str, Any]]:
        address = f"{self._url}/log?after={self.position}&log={self._uid}"
        with closing(fetched(address, self._token)) as response:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

    def _take_event(self, event: dict[str, Any]) -> None:
        assert self._learning is not None
        self.leader_position, self.heard_at = event["position"], time.time()
        if event["run"] is None:
            return
        run = Run(**event["run"])
        if run.position - len(run.rows) != self.position:
            raise ValueError(f"the log goes on at {run.position:,}, not at {self.position:,}")
        news = self._learning.replay(run)
        self.stream = self._learning.stream
        self.position = self.snapshot_position = run.position
        self.published = self.stream.answering()
        self.on_news(news)


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
    except (*_TROUBLES, KeyError) as error:
        raise ServeError(f"follow={leader!r}: no server answers there ({error}).") from error
    return {name: Replica(leader, name, token) for name in names}
