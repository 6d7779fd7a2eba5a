"""Loads the columns of a history: one pass over its operations, one array per column."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import msgspec
import numpy as np

from checkers.columns.rows import Codes, PartitionCodes, ReadRows, SendRows, ValueCodes, transposed
from checkers.columns.tables import (
    NEVER,
    NONE,
    Assigns,
    Booleans,
    Columns,
    Integers,
    PartitionName,
    ReaderName,
    Reads,
    SendOutcome,
    Tombstones,
)
from checkers.evidence.topic_partitions import partitions_of
from checkers.history.journals import is_unheard
from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, Operation, once
from checkers.history.phases import PHASE, Phase
from checkers.history.sends import is_answered
from checkers.history.setup import Setup, Topic
from checkers.history.transactions import polls_of, sends_of
from checkers.history.units import NS_PER_MS

# Plain integers, because an array of an enumeration's members takes four times as long to make.
_OUTCOMES = {"ok": int(SendOutcome.OK), "fail": int(SendOutcome.FAIL), "info": int(SendOutcome.INFO)}
_OF_TRANSACTIONS = {
    OK: int(SendOutcome.OK),
    FAIL: int(SendOutcome.ABORTED),
    INFO: int(SendOutcome.INFO),
}


_RETENTION = "delete.retention.ms"
_RETENTION_MS = 86_400_000
"""Kafka's default of ``delete.retention.ms``."""


@once
def columns_of(history: History) -> Columns:
    """Load the columns of a history, without records whose sender can't be judged.

    Args:
        history: as `checkers.history.reading.read_history` returns it: its shapes are not checked again here.
    """
    columns = all_columns_of(history)
    return _heard(columns, is_unheard(history)) if history.lacking else columns


@once
def all_columns_of(history: History) -> Columns:
    """Load columns as `columns_of` does, including received records whose sender is unknown."""
    loader = _Loader()
    for there in partitions_of(history):
        if there.read:
            loader.know(there.name)
    for operation in history.operations:
        take = loader.takers.get(operation.f)
        if take is not None:
            take(operation)
    return loader.columns()


def kept_ns_of(topic: Topic) -> int:
    """The least time for which a topic keeps tombstones."""
    text = str(topic.config.get(_RETENTION, ""))
    return (int(text) if text.isdigit() else _RETENTION_MS) * NS_PER_MS


def _heard(columns: Columns, is_unheard: Callable[[Integers], Booleans]) -> Columns:
    """Leave out records if it is unknown whether they were sent, or what happened to them.

    Readers returned these records, but no complete journal has them.  No rule may draw a conclusion from
    them.
    """
    reads = columns.reads
    odd = np.flatnonzero((reads.value >= 0) & ~np.isin(reads.value, columns.sends.value))
    kept = np.ones(len(reads.value), np.bool_)
    kept[odd[is_unheard(reads.value[odd])]] = False
    rows = {each.name: getattr(reads, each.name)[kept] for each in fields(Reads)}
    return replace(columns, reads=Reads(**rows))


class _Loader:
    """Collects the operations of a history in their order."""

    def __init__(self) -> None:
        self.takers: dict[str, Callable[[Operation], None]] = {
            "setup": self._setup,
            PHASE: self._phase,
            "send": self._send,
            "txn": self._txn,
            "assign": self._assign,
            "poll": self._poll,
            "final-read": self._final_read,
        }
        self._partitions: Codes[PartitionName] = Codes()
        self._topics: dict[str, PartitionCodes] = {}
        self._readers: Codes[ReaderName] = Codes()
        self._processes: Codes[int | str] = Codes()
        self._assignment: dict[int | str, int] = {}
        self._invoked_ns: dict[int | str, int] = {}
        self._final_readers: set[int] = set()
        self._sends = SendRows()
        self._reads = ReadRows()
        self._assigns: list[tuple[int, int, int, int]] = []
        self._assignments = 0
        self._phases: dict[str, int] = {}
        self._final_began_ns = NEVER
        self._workload = Setup().workload
        self._keys: dict[str, int | None] = {}
        self._tombstones: dict[str, Tombstones] = {}
        self._foreign = True

    def columns(self) -> Columns:
        """Return everything that was collected as columns."""
        codes = ValueCodes()
        return Columns(
            sends=self._sends.sends(codes),
            reads=self._reads.reads(codes.of(self._reads.value)),
            others=tuple(codes.others),
            partitions=tuple(self._partitions),
            readers=tuple(self._readers),
            calls=self._reads.calls(),
            assigns=Assigns(*transposed(self._assigns, 4)),
            final_reads=self._reads.final_reads(),
            final_readers=tuple(sorted(self._final_readers)),
            phases=self._phases,
            acks=str(self._workload.acks),
            idempotent=self._workload.idempotent,
            pipelined=self._workload.pipelined,
            durable=np.fromiter(map(self._workload.is_durable, self._processes), np.bool_),
            keys=self._keys,
            tombstones=self._tombstones,
            foreign=self._foreign,
        )

    def know(self, partition: PartitionName) -> None:
        """Add a partition, with or without records."""
        self._codes_of(partition.topic)[partition.partition]

    def _codes_of(self, topic: str) -> PartitionCodes:
        codes = self._topics.get(topic)
        if codes is None:
            codes = self._topics[topic] = PartitionCodes(topic, self._partitions)
        return codes

    def _setup(self, operation: Operation) -> None:
        setup = msgspec.convert(operation.value, Setup)
        self._workload = setup.workload
        self._foreign = False
        for topic in setup.topics:
            if "compact" in topic.cleanup:
                self._keys[topic.name] = setup.workload.keys
                if setup.workload.keys and setup.workload.tombstones:
                    self._tombstones[topic.name] = Tombstones(
                        setup.workload.keys, setup.workload.tombstones, kept_ns_of(topic)
                    )

    def _phase(self, operation: Operation) -> None:
        self._phases[operation.key] = operation.time_ns

    def _send(self, operation: Operation) -> None:
        value = operation.value
        if operation.type is INVOKE:
            process, codes = self._processes[operation.process], self._codes_of(operation.key)
            if isinstance(value, dict):
                self._sends.invoke_run(operation, process, codes[value["partition"]])
            else:
                partitions = [codes[entry[0]] for entry in value]
                self._sends.invoke(operation, process, partitions, [entry[1] for entry in value])
        elif not is_answered(value):
            self._sends.complete_alike(operation, _OUTCOMES[operation.type])
        elif isinstance(value, dict):
            self._sends.complete_run(operation)
        else:
            offsets = [NONE if entry[2] is None else entry[2] for entry in value]
            self._sends.complete(operation, offsets, [_OUTCOMES[entry[3]] for entry in value])

    def _txn(self, operation: Operation) -> None:
        """Add a transaction: its sends, which have the outcome of the transaction, and its polls."""
        sends = [] if operation.value is None else sends_of(operation)
        if operation.type is INVOKE:
            self._invoked_ns[operation.process] = operation.time_ns
            self._sends.invoke(
                operation,
                self._processes[operation.process],
                [self._codes_of(topic)[partition] for _, topic, partition, *_ in sends],
                [mop[3] for mop in sends],
                transactional=True,
            )
            return
        outcome = _OF_TRANSACTIONS[operation.type]
        if sends:
            offsets = [NONE if offset is None else offset for offset in map(_offset_of, sends)]
            self._sends.complete(operation, offsets, [outcome] * len(sends))
        else:
            self._sends.complete_alike(operation, outcome)
        polls = [] if operation.value is None else polls_of(operation)
        if polls:
            self._reassigned(operation, polls[0][1])
            self._called(operation)
            for _, topic, records in polls:
                self._reads.records(records, self._codes_of(topic))

    def _assign(self, operation: Operation) -> None:
        if operation.type is OK:
            self._begin_assignment(operation, operation.key, operation.value)

    def _begin_assignment(self, operation: Operation, topic: str, places: list[tuple[int, int]]) -> None:
        self._assignments += 1
        self._assignment[operation.process] = self._assignments
        codes = self._codes_of(topic)
        for partition, offset in places:
            self._assigns.append((self._assignments, codes[partition], offset, operation.index))

    def _reassigned(self, operation: Operation, topic: str) -> None:
        """Start the assignment that the consumer's group gave it in a poll, if there was one."""
        assigned = operation.value.get("assigned")
        if assigned is not None:
            self._begin_assignment(operation, topic, assigned)

    def _poll(self, operation: Operation) -> None:
        if operation.type is INVOKE:
            self._invoked_ns[operation.process] = operation.time_ns
        elif operation.type is OK:
            self._reassigned(operation, operation.key)
            self._returned(operation)

    def _final_read(self, operation: Operation) -> None:
        if operation.type is INVOKE:
            self._invoked_ns[operation.process] = operation.time_ns
            self._final_readers.add(self._readers[_reader_of(operation)])
            self._final_began_ns = min(self._final_began_ns, operation.time_ns)
            self._foreign = False
        elif operation.type is not FAIL and operation.value.get("position") is not None:
            self._returned(operation)
            self._reads.coverage(operation, self._codes_of(operation.key), self._listed_ns())

    def _listed_ns(self) -> int:
        """The start of the final-read phase, or else of the first final read: offsets were listed later.

        A reader lists once and then reads one partition after the other, so the invocation of a single final
        read would be too late: records that were appended in between need not be below the listed end.
        """
        return self._phases.get(Phase.FINAL_READ, self._final_began_ns)

    def _returned(self, operation: Operation) -> None:
        self._called(operation)
        self._reads.records(operation.value["records"], self._codes_of(operation.key))

    def _called(self, operation: Operation) -> None:
        process = self._processes[operation.process]
        if operation.f == "final-read":
            self._assignments += 1
            assignment = self._assignments
        else:
            assignment = self._assignment.get(operation.process, -1 - process)
        reader = self._readers[_reader_of(operation)]
        invoked_ns = self._invoked_ns[operation.process]
        self._reads.call(operation, process, reader, assignment, invoked_ns)


def _reader_of(operation: Operation) -> ReaderName:
    """The reader of an operation.  A transaction without an isolation level reads committed records."""
    return ReaderName(operation.value["client"], operation.value.get("isolation", "read_committed"))


def _offset_of(mop: Sequence[object]) -> int | None:
    """Offset of a send within a transaction; None if it was not acknowledged."""
    offset = mop[4] if len(mop) > len(("send", "topic", "partition", "value")) else None
    return offset if isinstance(offset, int) else None
