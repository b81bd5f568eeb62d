"""`greville stream --kafka`: every message is learned once, whatever is killed.

The broker is librdkafka's own mock, which speaks the protocol over TCP, in this process; the
streams are processes of their own. Its topics have four partitions, and are made when first named.
"""

import json
import random
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest

import greville

from .. import children
from ..houses import as_rows, houses
from ..lengths import at_length
from ..runner import refused, run

kafka = pytest.importorskip("confluent_kafka", reason="install greville[kafka] to test it")
pytestmark = [pytest.mark.full, pytest.mark.usefixtures("here")]


class Broker:
    """Topics to write and to read."""

    def __init__(self):
        self._cluster = kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
        (found,) = self._cluster.list_topics(timeout=10).brokers.values()
        self.address = f"{found.host}:{found.port}"
        self._producer = kafka.Producer(
            {"bootstrap.servers": self.address, "log_level": 0, "enable.idempotence": True}
        )

    def send(self, topic, rows, partitions=1, first=0):
        for i, row in enumerate(rows, first):
            value = row if row is None or isinstance(row, str) else json.dumps(row)
            self._producer.produce(topic, value, f"k{i}", partition=i % partitions)
        assert self._producer.flush(10) == 0

    @contextmanager
    def reading(self, topic):
        """A function that returns the messages that have come since it was called, with keys."""
        common = {"bootstrap.servers": self.address, "log_level": 0}
        consumer = kafka.Consumer({**common, "group.id": "test", "enable.auto.commit": False})
        parts = self._producer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([kafka.TopicPartition(topic, n, kafka.OFFSET_BEGINNING) for n in parts])
        try:
            yield lambda: [
                (m.key().decode(), json.loads(m.value())) for m in consumer.consume(1000, 0.1)
            ]
        finally:
            consumer.close()


@pytest.fixture(scope="module")
def broker():
    return Broker()


def command(broker, topic, checkpoint, *more):
    where = ["--kafka", broker.address, "--topic", topic, "--answers", f"{topic}-answers"]
    return ["stream", "-t", "price", *where, "--checkpoint", checkpoint, *map(str, more)]


def answered(broker, topic, rows, checkpoint, *more, kills=(), partitions=1):
    """Answers to rows, by a stream that is killed after so many answers more; some come twice."""
    answers, kills, n = [], list(kills), sum(row is not None for row in rows)
    broker.send(topic, rows[:-1], partitions)
    arguments = [*children.GREVILLE, *command(broker, topic, checkpoint, *more)]
    with broker.reading(f"{topic}-answers") as read:
        while kills:
            with children.started(arguments) as process:
                begin = len(answers)
                while len(answers) - begin < kills[0] and len(dict(answers)) < n - 1:
                    answers += read()
                    assert process.poll() is None
                time.sleep(random.Random(len(kills)).uniform(0, 0.05))
                process.kill()
            del kills[0]
        broker.send(topic, rows[-1:], partitions, first=len(rows) - 1)
        with children.started(arguments) as process:
            while len(dict(answers)) < n:
                answers += read()
                assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        return answers


def agree(answer, other):
    """Whether two answers are the same, but for the rounding of numbers."""
    return answer.keys() == other.keys() and all(
        value == other[name] or value == pytest.approx(other[name], rel=1e-9)
        for name, value in answer.items()
    )


def learned(path):
    """All that a checkpoint knows."""
    stream = greville.load(path)
    greville.save(stream.model, "model")
    with open("model", "rb") as file:
        return file.read(), repr(stream.rows), stream.lines, stream.position


@pytest.mark.posix("SIGTERM to another process")
def test_messages_are_lines(broker):
    """Answers are those to the same lines of standard input, under the keys of the messages."""
    rows = as_rows(houses(300))
    sent = [*rows[:50], "{half", *rows[50:200], None, *rows[200:]]
    options = ["--hidden", 20, "--std", "--every", 70]
    answers = answered(broker, "lines", sent, "s", *options)
    lines = "".join(f"{'' if r is None else r if r == '{half' else json.dumps(r)}\n" for r in sent)
    plain = [*children.GREVILLE, "stream", "-t", "price", *map(str, options)]
    out = children.run(plain, input=lines.encode(), capture_output=True).stdout
    want = {json.loads(line)["line"]: json.loads(line) for line in out.splitlines()}
    assert len(answers) == len(want)
    for key, answer in answers:
        assert key == f"k{answer['offset']}"
        number = answer.pop("offset") + 1
        assert answer.pop("partition") == 0
        assert agree({"line": number, **answer}, want[number])
    assert greville.load("s").settled().n_rows == 300
    # Without a topic for answers they are lines, and a checkpoint goes on behind its messages.
    broker.send("lines", rows[:5])
    where = ["--kafka", broker.address, "--topic", "lines", "--checkpoint", "s"]
    with children.started(
        [*children.GREVILLE, "stream", *where], stdout=subprocess.PIPE
    ) as process:
        for i in range(5):
            assert json.loads(process.stdout.readline())["offset"] == len(sent) + i
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert greville.load("s").lines == len(sent) + 5


def test_a_model_is_that_of_an_uninterrupted_run_to_the_bit_whatever_is_killed(broker):
    n, chance = 3_000, random.Random(0)
    rows = as_rows(houses(n))
    options = ["--hidden", "20", "--every", "100"]
    kills = [0, 1, *(chance.randrange(900) for _ in range(at_length(4, 40)))]
    want = answered(broker, "whole", rows, "whole", *options)
    assert len(want) == n
    got = answered(broker, "killed", rows, "killed", *options, kills=kills)
    assert len(got) > n  # some were sent again, each time the same but for rounding
    wanted = dict(want)
    assert wanted.keys() == dict(got).keys()
    assert all(agree(answer, wanted[key]) for key, answer in got)
    assert learned("killed")[:3] == learned("whole")[:3]
    assert json.loads(learned("killed")[3])["offsets"] == [[0, n]]


def test_messages_of_all_partitions_are_learned_once_whatever_is_killed(broker):
    n, chance = 2_000, random.Random(1)
    kills = [300, 0, *(chance.randrange(700) for _ in range(at_length(2, 60)))]
    options = ["--hidden", "20", "--every", "50"]
    got = answered(broker, "parts", as_rows(houses(n)), "s", *options, kills=kills, partitions=4)
    assert {(a["partition"], a["offset"]) for _, a in got} == {(i % 4, i // 4) for i in range(n)}
    stream = greville.load("s")
    assert (stream.lines, stream.settled().n_rows) == (n, n)
    assert sorted(json.loads(stream.position)["offsets"]) == [[i, n // 4] for i in range(4)]


def test_messages_that_a_client_delivers_again_are_learned_once(broker, monkeypatch):
    """Also where they are among those that it delivers together."""
    n, chance, came = 400, random.Random(0), []

    class Repeating(kafka.Consumer):
        def poll(self, timeout):
            if len(came) == n:
                signal.raise_signal(signal.SIGTERM)
            message = super().poll(timeout)
            came.extend([] if message is None else [message])
            return message

        def consume(self, most, timeout):
            messages = super().consume(most, timeout)
            came.extend(messages)
            return [*messages, *chance.sample(came, min(len(came), 20))]

    broker.send("again", as_rows(houses(n)), partitions=4)
    monkeypatch.setattr(kafka, "Consumer", Repeating)
    where = ["--kafka", broker.address, "--topic", "again", "--checkpoint", "s"]
    answers = [json.loads(line) for line in run("stream", "-t", "price", *where)[0].splitlines()]
    assert sorted((a["partition"], a["offset"]) for a in answers) == [
        (i, k) for i in range(4) for k in range(n // 4)
    ]
    stream = greville.load("s")
    assert (stream.lines, stream.settled().n_rows) == (n, n)


def test_what_does_not_go_together_is_refused(broker, here):
    def said(*options):
        return refused("stream", "-q", "-t", "price", *options)

    assert "name the brokers with --kafka" in said("--topic", "in")
    assert "--checkpoint" in said("--kafka", broker.address, "--topic", "in")
    where = ["--kafka", broker.address, "--checkpoint", "s", "--topic"]
    assert "are for standard input" in said(*where, "in", "--replay")
    assert "--kafka 127.0.0.1:1: " in said("--kafka", "127.0.0.1:1", *where[2:], "in")
    assert "No such configuration property" in said(
        "--kafka", _file("config", f"# ours\nbootstrap.servers={broker.address}\nbogus=1\n"),
        *where[2:], "in",
    )  # fmt: skip
    stream = greville.load(_checkpoint(broker))
    stream.position = json.dumps({"topic": "in", "offsets": [[0, 99]]})
    greville.save(stream, "s")
    assert "in, partition 0, offset 99: " in said(*where, "in")  # gone, and not passed over
    assert "goes on with in" in said(*where, "other")
    assert "came from Kafka" in said("--checkpoint", "s")
    stream.position = json.dumps({"topic": "in", "offsets": [[9, 1]]})
    greville.save(stream, "s")
    assert "fewer partitions" in said(*where, "in")


def _file(name, text):
    with open(name, "w", encoding="utf8") as file:
        file.write(text)
    return name


def _checkpoint(broker):
    answered(broker, "in", as_rows(houses(20)), "s")
    return "s"
