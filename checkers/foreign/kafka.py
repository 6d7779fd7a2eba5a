"""Converts Jepsen's kafka workload to the operations of docs/histories.md.

Source: jepsen.tests.kafka.  Its operations have micro-operations: ``[:send k v]``, which is answered as
``[:send k [offset v]]``, and ``[:poll]``, answered ``[:poll {k [[offset v] …]}]``.  Each key is a separate
log: a partition of the one topic `TOPIC`.  If all keys are numbers, the partition has the key's number.

- In a test without transactions, sends become ``send`` and polls become ``poll``, one operation each.
- In a test with transactions (one ``:txn`` is enough), each operation that sends is a ``txn``, and readers
  are read_committed.
- A poll with records is ok, whatever the outcome of its operation.
- ``:assign`` does not state where reading begins, except with ``:seek-to-beginning?``.  But Kafka's consumer
  continues with the partitions that it was assigned before, and Jepsen's checker assumes the same.  A
  subscribed consumer may be assigned other partitions in every poll, unless a ``:rebalance-log`` states when.
  Positions before and after such a change are unrelated.  A consumer whose transaction failed continues after
  the transaction's records, at the transaction's start, or before that (`kafka_positions`).
- A transaction with an unknown outcome, and all its records of all keys, committed if another client received
  one of its records with read_committed (compare ``must-have-committed?``): it is converted as ok.
"""

from collections import defaultdict
from typing import NamedTuple

from checkers.foreign.conversion import PositionClock, imported, invocations_of, operation_of
from checkers.foreign.kafka_parts import Chunk, Part, Poll, Send, keys_of, partitions_of, parts_of, text_of
from checkers.foreign.kafka_positions import Positions, committed_after_all
from checkers.foreign.records import Foreign, ForeignOperation
from checkers.history.operations import History, Operation, OperationType

TOPIC = "jepsen"
"""Topic whose partitions are the keys."""

CLIENT = "jepsen"
"""The client that reads; Jepsen's client is Kafka's Java client."""

_TYPE = OperationType
_MICRO = frozenset({"send", "poll", "txn"})
_NO_PARTS: tuple[Part, ...] = ()
_SEEKS = "seek-to-beginning?"
_REBALANCES = "rebalance-log"


class KafkaHistory(NamedTuple):
    """An imported history, and the names of its partitions.

    Attributes:
        history: its operations.
        transactional: whether the test used transactions.
        committed: number of transactions with an unknown outcome that are known to have committed.
        names: key of each partition; empty if partitions have their keys' numbers.
    """

    history: History
    transactional: bool
    committed: int
    names: dict[int, str]


class _Translation(NamedTuple):
    """Function, type and value of an operation of docs/histories.md."""

    f: str
    type: OperationType
    value: object


def kafka_history_of(foreign: Foreign) -> KafkaHistory:
    """Convert a history of Jepsen's kafka workload.

    Raises:
        HistoryError: a micro-operation does not have a shape of that workload, or an offset is invalid.
    """
    asked = invocations_of(foreign)
    parts = [
        parts_of(record, asked[position], foreign.place(position)) if record.f in _MICRO else _NO_PARTS
        for position, record in enumerate(foreign.records)
    ]
    partitions = partitions_of(keys_of(foreign, parts))
    transactional = "txn" in foreign.functions
    conversion = _Conversion(partitions, transactional=transactional)
    committed = committed_after_all(foreign, parts) if transactional else frozenset()
    operations = [
        conversion.operation(position, record, some, committed=position in committed)
        for position, (record, some) in enumerate(zip(foreign.records, parts, strict=True))
    ]
    names = {number: key for key, number in partitions.items() if key != str(number)}
    return KafkaHistory(imported(foreign, operations), transactional, len(committed), names)


class _Conversion:
    """Converts operations in order, and tracks where the positions of consumers become unknown."""

    def __init__(self, partitions: dict[str, int], *, transactional: bool) -> None:
        self._partitions = partitions
        self._transactional = transactional
        self._isolation = "read_committed" if transactional else "read_uncommitted"
        self._clock = PositionClock()
        self._subscribed: set[int | str] = set()
        self._positions: defaultdict[int | str, Positions] = defaultdict(Positions)

    def operation(
        self, position: int, record: ForeignOperation, parts: tuple[Part, ...], *, committed: bool
    ) -> Operation:
        """Convert a record to an operation; `committed` means that it is known to have committed."""
        f, kind, value = self._translated(record, parts, _TYPE.OK if committed else record.type)
        key = f"process {record.process}" if f == "txn" else TOPIC
        return operation_of(position, record, self._clock, f=f, key=key, value=value, kind=kind)

    def _translated(
        self, record: ForeignOperation, parts: tuple[Part, ...], kind: OperationType
    ) -> _Translation:
        if record.f in {"assign", "subscribe"}:
            return _Translation("assign", record.type, self._assigned(record))
        if record.f not in _MICRO:
            return _Translation(record.f, record.type, record.value)
        polls = [part for part in parts if isinstance(part, Poll)]
        if len(polls) == len(parts) and parts:
            return self._poll(record, polls)
        sends = [part for part in parts if isinstance(part, Send)]
        if len(sends) == len(parts) and not self._transactional:
            return _Translation("send", record.type, [self._sent(part, record.type) for part in sends])
        return _Translation("txn", kind, self._transaction(record, parts, kind))

    def _assigned(self, record: ForeignOperation) -> list[list[int]]:
        begins = self._begins(record)
        if record.type is _TYPE.OK:
            self._positions[record.process].assign(begins)
            if record.f == "subscribe":
                self._subscribed.add(record.process)
            else:
                self._subscribed.discard(record.process)
        return [list(begin) for begin in begins]

    def _begins(self, record: ForeignOperation) -> list[tuple[int, int]]:
        """The known offsets at which reading begins; a consumer continues with its earlier assignment."""
        if record.f == "subscribe" or not isinstance(record.value, list):
            return []
        assigned = [self._partitions[text_of(key)] for key in record.value]
        if record.extra.get(_SEEKS):
            return [(partition, 0) for partition in assigned]
        if record.process in self._subscribed:
            return []
        return self._positions[record.process].of(assigned)

    def _poll(self, record: ForeignOperation, polls: list[Poll]) -> _Translation:
        reader: dict[str, object] = {"client": CLIENT, "isolation": self._isolation}
        answered = any(poll.chunks is not None for poll in polls)
        if record.type is _TYPE.INVOKE or not (answered or record.type is _TYPE.OK):
            self._moved(record, polls)
            return _Translation("poll", record.type, reader)
        value = reader | {"records": [self._chunk(chunk) for poll in polls for chunk in poll.chunks or ()]}
        return _Translation("poll", _TYPE.OK, value | self._moved(record, polls))

    def _transaction(
        self, record: ForeignOperation, parts: tuple[Part, ...], kind: OperationType
    ) -> dict[str, object]:
        begins = kind is _TYPE.INVOKE
        value: dict[str, object] = {
            "client": CLIENT,
            "isolation": self._isolation,
            "end": "commit",
            "mops": [self._micro(part, begins=begins) for part in parts],
        }
        if begins:
            return value
        value["ended"] = "commit" if kind is _TYPE.OK else None
        return value | self._moved(record, [part for part in parts if isinstance(part, Poll)])

    def _moved(self, record: ForeignOperation, polls: list[Poll]) -> dict[str, object]:
        """Follow a consumer's positions.

        Returns the mark of an operation that begins at another position than the last one.
        """
        if record.type is _TYPE.INVOKE:
            return {}
        rebalanced = record.process in self._subscribed and record.extra.get(_REBALANCES, True)
        chunks = [
            (self._partitions[c.key], c.offsets) for poll in polls for c in poll.chunks or () if c.offsets
        ]
        positions = self._positions[record.process]
        begins = [] if rebalanced else positions.begin(chunks)
        failed = record.type is _TYPE.FAIL and self._transactional
        positions.advance(chunks, failed=failed, complete=all(poll.chunks is not None for poll in polls))
        return {} if begins is None else {"assigned": [list(begin) for begin in begins]}

    def _sent(self, part: Send, kind: OperationType) -> list[object]:
        entry: list[object] = [self._partitions[part.key], part.value]
        if kind is _TYPE.INVOKE:
            return entry
        known = part.offset is not None and kind is not _TYPE.FAIL
        outcome = _TYPE.OK if known else kind
        return [*entry, part.offset if known else None, outcome.value]

    def _micro(self, part: Part, *, begins: bool) -> list[object]:
        if isinstance(part, Poll):
            return ["poll", TOPIC, [self._chunk(chunk) for chunk in part.chunks or ()]]
        entry: list[object] = ["send", TOPIC, self._partitions[part.key], part.value]
        return entry if begins else [*entry, part.offset]

    def _chunk(self, chunk: Chunk) -> list[object]:
        return [self._partitions[chunk.key], chunk.offsets, chunk.values]
