"""Models that follow others, and models as they were, while servers are killed."""

import os
import random
import signal
import time
from contextlib import suppress

import numpy as np
import pytest

import greville
from greville.serve import LogError, open_earlier

from ..lengths import at_length
from .conftest import free_port, until
from .rows import NEW, inputs, offline, rows
from .test_kill import Client
from .test_learning_service import Served

PROBE = [inputs(row) for row in rows(50, seed=9)]


def is_same(stream, other):
    """Whether two streams have learned the same, to the bit."""
    found, wanted = (each.settled().answers_to_rows(PROBE) for each in (stream, other))
    return np.array_equal(found.prediction, wanted.prediction) and stream.rows == other.rows


def model_of(server, folder):
    """The stream in the file that a server gives."""
    path = folder / "given.greville"
    path.write_bytes(server.get("/model/file")[1])
    return greville.load(path)


def caught_up(replica, leader):
    """Whether the replica has all of the leader's log."""
    with suppress(OSError):
        (status, mine), (_, theirs) = replica.get("/model"), leader.get("/model")
        return status == 200 and mine["position"] == theirs["position"]
    return False


def number(server, name):
    (line,) = [
        line for line in server.get("/metrics")[1].decode().splitlines() if line.startswith(name)
    ]
    return float(line.split()[-1])


@pytest.mark.posix("SIGKILL")
def test_a_replica_follows_answers_and_learns_nothing_itself(serve, tmp_path):
    leader = serve(tmp_path / "m.greville", *NEW, port=free_port())
    leader.post("/learn", rows(300))
    replica = serve("--follow", leader.url)
    assert replica.get("/model")[1]["rows"] == 300
    leader.post("/learn", [{**row, "id": k} for k, row in enumerate(rows(40, 1))])
    leader.post("/unlearn", [{"id": 3}, {"id": 7}])
    leader.post("/learn", rows(3, 2))
    until(lambda: caught_up(replica, leader))
    assert replica.get("/model/file") == leader.get("/model/file")
    assert replica.post("/predict", PROBE) == leader.post("/predict", PROBE)
    assert replica.get("/model")[1]["leader"]["behind"] == 0
    assert replica.get("/health") == (200, {"status": "ok", "behind": 0})
    assert number(replica, "greville_behind_rows") == 0
    assert "behind" not in leader.get("/health")[1]
    for path, row in (("/learn", rows(1)[0]), ("/unlearn", {"id": 1}), ("/predict", {"id": 1})):
        status, answer = replica.post(path, row | {"a": 1.0})
        assert (status, leader.url in answer["error"]) == (403, True)
    leader.end(signal.SIGKILL)
    assert replica.post("/predict", PROBE)[0] == 200
    until(lambda: number(replica, "greville_behind_seconds") > 1.5)
    assert replica.get("/model")[1]["leader"]["seconds_since_heard"] > 1
    leader.start()
    leader.wait_until_ready().post("/learn", rows(5, 3))
    until(lambda: caught_up(replica, leader))
    assert replica.get("/model")[1]["leader"]["seconds_since_heard"] < 5


@pytest.mark.posix("SIGKILL")
def test_after_kills_of_both_the_replica_is_the_leader_to_the_bit(serve, tmp_path):
    port = free_port()
    options = ("--target", "y", "--hidden", "20", "--every", "200", "--ignore", "name")
    leader = serve(tmp_path / "m.greville", *options, port=port)
    replica = serve("--follow", leader.url)
    clients = [Client(number, port) for number in range(2)]
    for client in clients:
        client.start()
    draw = random.Random(0)
    try:
        for k in range(at_length(4, 40)):
            time.sleep(draw.uniform(0.1, 0.4))
            killed = (leader, replica)[k % 2]
            os.kill(killed.pid, signal.SIGKILL)
            killed.end(signal.SIGKILL)
            killed.start()
            leader.wait_until_ready()  # or a replica could not start
    finally:
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join()
    assert sum(len(client.acknowledged) for client in clients) > 20
    until(lambda: caught_up(replica, leader))
    assert is_same(*(model_of(server, tmp_path) for server in (replica, leader)))


def test_a_log_that_does_not_go_on_from_there_is_refused(start_application):
    server = start_application()
    server.post("/learn", [{**row, "id": k} for k, row in enumerate(rows(10))])
    uid = server.services["m"].log_uid
    for query in (f"after=0&log={uid}x", "after=0", f"after=11&log={uid}"):
        status, answer = server.get(f"/log?{query}")
        assert (status, answer["field"]) == (410, "after")
    for after in ("", "x", "-1", "1e3", "9" * 30):
        assert server.get(f"/log?after={after}&log={uid}")[0] == 422
    assert server.get("/model/file?log")[0] == 200


# As it was


def test_a_model_as_it_was_is_that_of_its_first_rows(tmp_path):
    """At every kind of position: in a request, in a block, and where a snapshot is later."""
    path, some = tmp_path / "m.greville", rows(700)
    with Served(path, every=100) as served:
        for start in range(0, 700, 35):
            served.learn(some[start : start + 35])
        for position in (0, 1, 20, 35, 256, 500, 700):  # while it is served
            reader = open_earlier(path, position)
            assert reader.position == position
            assert position == 0 or is_same(reader.stream, offline(some[:position]))
    reader = open_earlier(path, 300)
    assert is_same(reader.stream, offline(some[:300]))
    assert reader.board.record.n < 300
    with pytest.raises(LogError, match="there is no position 701; it ends at 700"):
        open_earlier(path, 701)


def test_a_model_as_it_was_at_a_time(tmp_path):
    path, some = tmp_path / "m.greville", rows(60)
    before = time.time() - 0.01
    with Served(path) as served:
        served.learn(some[:40])
        time.sleep(0.01)
        between = time.time()
        time.sleep(0.01)
        served.learn(some[40:])
        served.crash()
    assert is_same(open_earlier(path, at=between).stream, offline(some[:40]))
    assert open_earlier(path, at=time.time()).position == 60
    with pytest.raises(LogError, match="reaches back no further than position 0, 20"):
        open_earlier(path, at=before)


def test_what_was_erased_or_deleted_does_not_come_back(tmp_path):
    path, some = tmp_path / "m.greville", rows(60)
    with Served(path) as served:
        served.learn([{**row, "id": k} for k, row in enumerate(some)])
        served.ask("unlearn", [{"id": 5}])
    for position in (0, 5, 60):
        with pytest.raises(LogError, match="reaches back no further than position 61"):
            open_earlier(path, position)
    assert open_earlier(path, 61).stream.n_rows == 59
    with Served(path) as served:
        served.learn(rows(10, 1))
    assert open_earlier(path, 65).stream.n_rows == 63
    with Served(path, keep_log=1e-9) as served:
        served.learn(rows(10, 2))
    with pytest.raises(LogError, match=r"no further than position 81.*--keep-log"):
        open_earlier(path, 75)
    assert open_earlier(path, 81).stream.n_rows == 79


@pytest.mark.posix
def test_a_server_shows_a_model_as_it_was_while_another_is_killed(serve, tmp_path):
    path = tmp_path / "m.greville"
    server = serve(path, *NEW)
    server.post("/learn", rows(50))
    server.post("/learn", rows(50, 1))
    server.end(signal.SIGKILL)
    earlier = serve(path, "--at", "50")
    assert "as it was at position 50" in earlier.said.read_text()
    found = earlier.get("/model")[1]
    assert (found["rows"], found["position"], found["read_only"]) == (50, 50, True)
    status, answer = earlier.post("/learn", rows(1))
    assert (status, "as it was at position 50" in answer["error"]) == (403, True)
    server.start()
    assert server.wait_until_ready().get("/model")[1]["rows"] == 100
    assert earlier.post("/predict", {"a": 1.0})[0] == 200
