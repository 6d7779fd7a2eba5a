"""Finds places in a recorded history: acknowledged records, readers' records, replicas, metadata logs."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from checkers.history.operations import History, Operation, OperationType, once
from tests.mutations.batches import Columns, unpacked
from tests.mutations.edits import Edit

OK, INVOKE, FAIL, INFO = OperationType.OK, OperationType.INVOKE, OperationType.FAIL, OperationType.INFO
SECOND_NS = 1_000_000_000


class Acked(NamedTuple):
    """A record that was acknowledged outside of transactions."""

    index: int  # type: ignore[assignment]  # the field has the name of a method of tuples
    topic: str
    partition: int
    value: int
    offset: int
    time_ns: int


@once
def acked(history: History) -> tuple[Acked, ...]:
    """All acknowledged records of sends, in the order of their acknowledgements."""
    found = []
    for o in history.operations:
        if o.f != "send" or o.type not in (OK, INFO) or not o.value:
            continue
        if isinstance(o.value, dict):
            number = o.value["first"]
            for offset, count in o.value.get("offsets") or ():
                found += [
                    Acked(o.index, o.key, o.value["partition"], number + i, offset + i, o.time_ns)
                    for i in range(count)
                ]
                number += count
        else:
            found += [
                Acked(o.index, o.key, entry[0], entry[1], entry[2], o.time_ns)
                for entry in o.value
                if len(entry) == 4 and entry[3] == "ok" and entry[2] is not None
            ]
    return tuple(found)


def phase_ns(history: History, name: str) -> int:
    """When a phase began."""
    return next(o.time_ns for o in history.of("phase") if o.key == name)


def settled_ns(history: History) -> int:
    """When the last fault and the last admin operation were over, and two seconds more."""
    ends = [
        o.time_ns
        for o in history.operations
        if o.f in ("inject", "heal") or (isinstance(o.process, str) and o.process.startswith("admin"))
    ]
    return max(ends, default=phase_ns(history, "load")) + 2 * SECOND_NS


def settled(history: History) -> list[Acked]:
    """Records that were acknowledged when all faults were over, before recovery was asked for."""
    first, last = settled_ns(history), phase_ns(history, "heal")
    return [record for record in acked(history) if first < record.time_ns < last]


def final_reads(history: History, topic: str, partition: int, isolation: str = "") -> list[Operation]:
    """Completions of the final reads of a partition, of one isolation level or of all."""
    return [
        o
        for o in history.of("final-read")
        if o.type is not INVOKE
        and o.key == topic
        and o.value["partition"] == partition
        and isolation in ("", o.value["isolation"])
    ]


def polls(history: History) -> list[Operation]:
    """Polls that returned something, outside of transactions."""
    return [o for o in history.of("poll") if o.type is OK and o.value["records"]]


def replicas(history: History, topic: str, partition: int) -> list[Operation]:
    """Observations of a partition's replicas."""
    return [
        o
        for o in history.observed("replica")
        if (o.value["topic"], o.value["partition"]) == (topic, partition) and o.value["error"] is None
    ]


def columns_of(operation: Operation) -> Columns:
    """The batches of a replica."""
    return unpacked(operation.value)


def metadata_logs(history: History) -> list[Operation]:
    """Observations of the nodes' metadata logs."""
    return list(history.observed("metadata-log"))


def pairs(history: History, *functions: str) -> Iterator[tuple[Operation, Operation]]:
    """Invocations of some functions with their completions."""
    outstanding: dict[int | str, Operation] = {}
    for o in history.operations:
        if o.f not in functions:
            continue
        if o.type is INVOKE:
            outstanding[o.process] = o
        elif o.process in outstanding:
            yield outstanding.pop(o.process), o


def chunks(value: dict[str, Any]) -> Iterator[tuple[int, int, int, Any]]:
    """Chunk, position, offset and value of each record that a reader was given."""
    for number, (_, offsets, values) in enumerate(value["records"]):
        for position, (offset, given) in enumerate(zip(offsets, values, strict=True)):
            yield number, position, offset, given


def without_offsets(value: dict[str, Any], partition: int, lost: set[int] | range) -> None:
    """Take the records at some offsets out of what a reader was given."""
    again = []
    for number, offsets, values in value["records"]:
        if number == partition:
            stays = [i for i, offset in enumerate(offsets) if offset not in lost]
            offsets, values = [offsets[i] for i in stays], [values[i] for i in stays]  # noqa: PLW2901
        if offsets:
            again.append([number, offsets, values])
    value["records"] = again


def replace_value(value: dict[str, Any], partition: int, offset: int, given: Any) -> None:
    """Let a reader be given another value at an offset."""
    for number, offsets, values in value["records"]:
        if number == partition and offset in offsets:
            values[offsets.index(offset)] = given


def by_partition(records: list[Acked]) -> dict[tuple[str, int], list[Acked]]:
    """Records of each partition."""
    found: dict[tuple[str, int], list[Acked]] = defaultdict(list)
    for record in records:
        found[record.topic, record.partition].append(record)
    return found


def settled_record(edit: Edit) -> Acked:
    """A record acknowledged after all faults, with another one behind it, at this mutation's place."""
    records = settled(edit.original)
    last = {key: max(r.offset for r in some) for key, some in by_partition(records).items()}
    chosen: Acked = edit.chosen(r for r in records if r.offset + 1 < last[r.topic, r.partition])
    return chosen
