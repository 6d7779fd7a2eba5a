"""Records of topics that are deleted: one is appended before the deletion, all are fetched by id."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from checkers.history.changing_topics import RecordAppended, RecordRequested, RecordsFetched, TopicById
from checkers.history.operations import OperationType
from harness.clients.raw_records import ProduceAnswer, append_record, fetch_records, leader_of
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder
from harness.workloads.context import Address
from harness.workloads.values import ValueCodec, Values

T = TypeVar("T")

_ASK_TIMEOUT_S = 0.6
"""Less than the time between a creator's operations."""
_REFUSED = {19: "NOT_ENOUGH_REPLICAS", 100: "UNKNOWN_TOPIC_ID"}
"""Error codes of a Produce that was refused before anything was appended.

UNKNOWN_TOPIC_OR_PARTITION (3) is not one of them: an append that waits for its followers gets it too, if its
topic is deleted meanwhile.
"""


class RecordsOfTopics:
    """Appends and fetches as one process.

    Args:
        recorder: writes as this process.
        number: number of the process.
        codec: encodes values as records.
        listeners: every broker's CLIENT listener.
    """

    def __init__(
        self, recorder: Recorder, number: int, codec: ValueCodec, listeners: Sequence[Address]
    ) -> None:
        self._recorder = recorder
        self._values = Values(number)
        self._codec = codec
        self._listeners = tuple(listeners)
        self._random = Random(f"records {number}")

    def touch(self, topic: str, topic_id: str) -> None:
        """Append a record to a topic's first partition, then fetch this partition from some broker."""
        if self._listeners:
            self._append(topic, topic_id)
            self._fetch(topic, topic_id)

    def _append(self, topic: str, topic_id: str) -> None:
        value = self._values.draw()
        asked = RecordRequested(topic_id, value)
        self._recorder.invoke("append-record", topic, asked)
        leader = _put(self._random.choice(self._listeners), lambda it: leader_of(it, topic))
        if isinstance(leader, WireError):
            self._recorder.complete(OperationType.FAIL, asked, f"nothing sent: {leader}")
            return
        record = self._codec.encode(value)
        answer = _put(leader, lambda it: append_record(it, topic, topic_id, record))
        if isinstance(answer, WireError):
            self._recorder.complete(OperationType.INFO, asked, str(answer))
        elif answer.error:
            kind, error = _refused(answer)
            self._recorder.complete(kind, asked, error)
        else:
            self._recorder.complete(OperationType.OK, RecordAppended(topic_id, value, answer.offset))

    def _fetch(self, topic: str, topic_id: str) -> None:
        asked = TopicById(topic_id)
        self._recorder.invoke("fetch-records", topic, asked)
        answer = _put(self._random.choice(self._listeners), lambda it: fetch_records(it, topic_id))
        if isinstance(answer, WireError) or answer.error:
            error = str(answer) if isinstance(answer, WireError) else f"error {answer.error}"
            self._recorder.complete(OperationType.FAIL, asked, error)
            return
        records = tuple((offset, self._codec.decode(value)) for offset, value in answer.records)
        self._recorder.complete(OperationType.OK, RecordsFetched(topic_id, answer.log_start, records))


def _refused(answer: ProduceAnswer) -> tuple[OperationType, str]:
    """The outcome of a refused Produce; it is unknown if the record may have been appended nevertheless."""
    known = _REFUSED.get(answer.error)
    if known is None:
        return OperationType.INFO, f"error {answer.error} (may stand for an append)"
    return OperationType.FAIL, known


def _put(address: Address, question: Callable[[Connection], T]) -> T | WireError:
    try:
        with Connection(*address, _ASK_TIMEOUT_S) as connection:
            return question(connection)
    except WireError as error:
        return error
