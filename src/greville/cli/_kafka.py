"""Kafka for ``greville stream``: messages of one topic in, answers into another."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._process import Stop
from ._terminal import UserError, say

_SECONDS = 10.0  # in which a broker answers
_WAITING = 0.2  # seconds, between two looks at whether a signal has come


@dataclass(frozen=True)
class KafkaOptions:
    """Messages in the place of lines of standard input.

    Parameters
    ----------
    kafka : BROKERS
        Read messages from these brokers; or a file with settings of librdkafka, name=value.
    topic : NAME
        The topic that has the messages, a JSON object each.
    answers : NAME
        The topic for the answers. Standard output by default.
    """

    kafka: str | None = None
    topic: str | None = None
    answers: str | None = None

    def topics(self, state: Any, checkpoint: Path | None, of_lines: bool) -> Topics | None:
        """Return the topics to read and to answer; None for standard input."""
        if state.lines and (state.position is None) != (self.kafka is None):
            came = "standard input" if state.position is None else "Kafka"
            raise UserError(f"{checkpoint}: its lines came from {came}; go on with that.")
        if self.kafka is None:
            if self.topic is not None or self.answers is not None:
                raise UserError("--topic and --answers: name the brokers with --kafka.")
            return None
        if self.topic is None or checkpoint is None:
            raise UserError("--kafka: it needs --topic, and --checkpoint to keep the offsets in.")
        if of_lines:
            raise UserError("--kafka: --replay and --delimiter are for standard input.")
        return Topics(state, self.kafka, self.topic, self.answers)


class Topics:
    """Rows from the messages of a topic, and answers as messages of another.

    The offsets of the next messages are a part of the checkpoint, one file with the model: no
    message is learned twice or left out. The consumer group is not used. In each partition the
    offsets that are passed on rise strictly, whatever the client delivers. Answers are delivered
    before a checkpoint is written, so that none is lost; those after it are sent again when the
    stream goes on.

    Parameters
    ----------
    state : Stream
        What has been learned, and from which messages.
    servers : str
        Brokers, or a file with a setting of librdkafka in each line.
    topic : str
        The topic of the rows: a JSON object in each message.
    answers : str, optional
        The topic of the answers; without it they are lines of standard output.
    """

    def __init__(self, state: Any, servers: str, topic: str, answers: str | None) -> None:
        import confluent_kafka as kafka

        common = {"log_level": 0, "error_cb": self._say_error, **_settings(servers)}
        consuming = {
            "group.id": "greville",  # the library wants one
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # messages that are gone are not passed over
        }
        self._topic, self._answers, self._state, self._said = topic, answers, state, ""
        state.source = f"topic {topic}"
        self._offsets = _offsets(state, topic)  # those behind the messages that were answered
        self._received = dict(self._offsets)  # those behind the messages that came
        self._messages: list[Any] = []  # that are being answered
        self._first = state.lines + 1
        self._undelivered: list[str] = []
        self._producer: Any = None
        try:
            self._consumer = kafka.Consumer({**common, **consuming})
            partitions = _partitions(self._consumer, servers, topic)
            if answers is not None:
                self._producer = kafka.Producer({**common, "enable.idempotence": True})
                _partitions(self._producer, servers, answers)
        except kafka.KafkaException as error:
            raise UserError(f"--kafka {servers}: {error.args[0].str()}.") from error
        if not partitions >= self._offsets.keys():
            raise UserError(f"--topic {topic}: it has fewer partitions than it had.")
        begin = kafka.OFFSET_BEGINNING
        places = [(topic, n, self._offsets.get(n, begin)) for n in sorted(partitions)]
        self._consumer.assign([kafka.TopicPartition(*place) for place in places])

    def _say_error(self, error: Any) -> None:
        """Say that a broker is away, once; the library tries again for ever."""
        if error.str() != self._said:
            self._said = error.str()
            say(f"Kafka: {error.str()}.")

    def bursts(self, stop: Stop, at_once: int) -> Iterator[tuple[list[Any], int]]:
        """Yield the rows that are available, and the number of the first of these rows."""
        while not stop.asked:
            message = self._consumer.poll(_WAITING)
            if message is None:
                continue
            more = self._consumer.consume(at_once - 1, 0) if at_once > 1 else []
            self._advance()
            self._messages = list(filter(self._is_new, [message, *more]))
            self._first = self._state.lines + 1
            yield list(map(self._row, self._messages)), self._first

    def _is_new(self, message: Any) -> bool:
        """Note a message; return whether it is the first one with its offset, or an error."""
        if message.error() is not None:
            return True
        partition, offset = message.partition(), message.offset()
        is_new: bool = offset >= self._received.get(partition, 0)
        if is_new:
            self._received[partition] = offset + 1
        return is_new

    def _advance(self) -> None:
        """Note the offsets behind the messages that were answered."""
        for message in self._messages[: self._state.lines - self._first + 1]:
            self._offsets[message.partition()] = message.offset() + 1

    def _row(self, message: Any) -> Any:
        """A row as `Stream.answers` takes it; a message without a value gets no answer."""
        from ..tables.readers.json import parsed_line

        if message.error() is not None:
            where = f"--kafka: {self._topic}, partition {message.partition()}"
            raise UserError(f"{where}, offset {message.offset()}: {message.error().str()}.")
        value = message.value()
        return parsed_line(value) if value and value.strip() else None

    def write(self, answers: list[dict[str, Any]]) -> None:
        """Send answers, under the keys of the messages that they answer."""
        for answer in answers:
            message = self._messages[answer["line"] - self._first]
            place = {"partition": message.partition(), "offset": message.offset()}
            text = json.dumps({**place, **{k: v for k, v in answer.items() if k != "line"}})
            if self._producer is None:
                sys.stdout.write(text + "\n")
            else:
                self._send(message.key(), text)

    def _send(self, key: Any, text: str) -> None:
        while True:
            try:
                self._producer.produce(self._answers, text, key, on_delivery=self._note_delivery)
            except BufferError:  # the queue is full
                self._producer.poll(_WAITING)
            else:
                break
        self._producer.poll(0)

    def _note_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self._undelivered.append(error.str())

    def deliver(self) -> None:
        """Wait until all answers are delivered, and give the state the offsets that come next."""
        sys.stdout.flush()
        if self._producer is not None:
            self._producer.flush()
        if self._undelivered:
            what = f"an answer was not delivered ({self._undelivered[0]})"
            raise UserError(f"--answers {self._answers}: {what}; start the same command again.")
        self._advance()
        position = {"topic": self._topic, "offsets": list(self._offsets.items())}
        self._state.position = json.dumps(position)


def _partitions(client: Any, servers: str, topic: str) -> set[int]:
    """The partitions of a topic; a UserError if there is none of this name."""
    metadata = client.list_topics(topic, timeout=_SECONDS).topics[topic]
    if metadata.error is not None:
        raise UserError(f"--kafka {servers}: the topic {topic}: {metadata.error.str()}.")
    return set(metadata.partitions)


def _settings(servers: str) -> dict[str, str]:
    """The settings of a file, or the addresses of brokers as one."""
    if not Path(servers).is_file():
        return {"bootstrap.servers": servers}
    lines = (line.strip() for line in Path(servers).read_text(encoding="utf8").splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _offsets(state: Any, topic: str) -> dict[int, int]:
    """Return, for each partition with answered messages, the offset of the next message."""
    if state.position is None:
        return {}
    position = json.loads(state.position)
    if position["topic"] != topic:
        raise UserError(f"--topic {topic}: the checkpoint goes on with {position['topic']}.")
    return dict(position["offsets"])
