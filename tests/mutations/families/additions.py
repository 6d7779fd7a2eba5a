"""Partitions that were added to the loaded topic: the last one of a recorded run is taken for one."""

from typing import Any

from checkers.history.operations import Operation, OperationType
from tests.mutations.batches import kept, rewritten
from tests.mutations.edits import Edit
from tests.mutations.looking import (
    INFO,
    INVOKE,
    OK,
    Acked,
    final_reads,
    phase_ns,
    replicas,
    settled,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("smoke", "chaos", "moves", "voters", "disks")
_MS = 1_000_000


class Addition:
    """The last partition of a run's topic, which its set-up does not have.

    Args:
        edit: the history.
        ended: how the request for it ended.
        more: how many partitions beyond it were asked for; nobody ever made these.
    """

    def __init__(self, edit: Edit, ended: OperationType = OK, more: int = 0) -> None:
        self._edit = edit
        setup = edit.original.of("setup")[0]
        self.topic: str = setup.value["topics"][0]["name"]
        self.partition: int = setup.value["topics"][0]["partitions"] - 1
        edit.change(setup.index, lambda value: value["topics"][0].update(partitions=self.partition))
        asked = {"to": setup.value["nodes"][0]["name"], "count": self.partition + 1 + more}
        answer = asked | ({"code": 0, "message": None, "took_ms": 1} if ended is OK else {})
        load_ns = phase_ns(edit.original, "load")
        times_ns = load_ns - 2 * _MS, load_ns - _MS
        edit.add_call("admin-9", "create-partitions", self.topic, times_ns, (asked, answer), ended=ended)

    def record(self) -> Acked:
        """One that it acknowledged when all faults were over."""
        place = (self.topic, self.partition)
        chosen: Acked = self._edit.chosen(r for r in settled(self._edit.original) if r[1:3] == place)
        return chosen

    def reads(self) -> list[Operation]:
        """Completions of its final reads."""
        return final_reads(self._edit.original, self.topic, self.partition)

    def never_read(self) -> None:
        """Nobody began to read it at the end."""
        began = [
            o
            for o in self._edit.original.of("final-read")
            if o.type is INVOKE and (o.key, o.value["partition"]) == (self.topic, self.partition)
        ]
        self._edit.drop(*[o.index for o in (*began, *self.reads())])


@mutation("additions", VALID, RUNS)
def a_partition_was_added(edit: Edit) -> None:
    """A partition was added before the load began, and that was acknowledged; nothing else is changed."""
    Addition(edit)


@mutation("additions", VALID, RUNS)
def a_partition_was_added_by_a_request_of_unknown_fate(edit: Edit) -> None:
    """The outcome of the request is unknown, but the metadata log shows it."""
    Addition(edit, INFO)


@mutation("additions", VALID, RUNS)
def an_addition_of_unknown_fate_was_not_made(edit: Edit) -> None:
    """A request without an answer asked for one more partition than there is."""
    Addition(edit, INFO, more=1)


@mutation("additions", invalid("metadata-ack-lost"), RUNS)
def an_acknowledged_addition_was_not_made(edit: Edit) -> None:
    """A request for one more partition than the metadata log has was acknowledged."""
    Addition(edit, more=1)


@mutation("additions", invalid("lost-write"), RUNS, 2)
def an_added_partition_lost_its_tail(edit: Edit) -> None:
    """An added partition loses its log from an acknowledged record on: final reads and disks end there."""
    added = Addition(edit)
    cut = added.record().offset
    for read in added.reads():
        edit.change(read.index, lambda value: _end_at(value, added.partition, cut))
    for replica in replicas(edit.original, added.topic, added.partition):
        edit.change(replica.index, rewritten(lambda c: kept(c, c["base_offset"] < cut)))


@mutation("additions", invalid("lost-write", "unseen"), RUNS, 2)
def a_record_of_an_added_partition_is_not_read(edit: Edit) -> None:
    """No final read returns an acknowledged record of a partition whose addition has an unknown outcome."""
    added = Addition(edit, INFO)
    record = added.record()
    for read in added.reads():
        edit.change(read.index, lambda value: without_offsets(value, added.partition, {record.offset}))


@mutation("additions", unknown("final-read-complete"), RUNS)
def an_added_partition_was_not_read_to_its_end(edit: Edit) -> None:
    """Nobody read an added partition at the end."""
    Addition(edit).never_read()


@mutation("additions", unknown("log-0/[0-9]"), RUNS)
def no_disk_was_read_of_an_added_partition(edit: Edit) -> None:
    """Nothing was recorded of the replicas of a partition whose addition has an unknown outcome."""
    added = Addition(edit, INFO)
    edit.drop(*[o.index for o in replicas(edit.original, added.topic, added.partition)])


@mutation("additions", unknown("views-covered"), RUNS)
def nobody_told_of_an_added_partition(edit: Edit) -> None:
    """No broker's view has an added partition."""
    added = Addition(edit)
    for o in edit.original.observed("partitions"):
        edit.change(o.index, lambda value: _without(value["topics"], added))


@mutation("additions", unknown("recovery did not check log-0"), RUNS)
def recovery_passed_over_an_added_partition(edit: Edit) -> None:
    """The run did not wait for the recovery of a partition that had been added long before."""
    added = Addition(edit)
    for o in edit.original.of("recover"):
        if o.type is not INVOKE:
            edit.change(o.index, lambda value: _not_recovered(value, added))


def _end_at(value: dict[str, Any], partition: int, cut: int) -> None:
    without_offsets(value, partition, range(cut, 2**62))
    value["end"] = value["position"] = cut


def _without(topics: dict[str, list[list[Any]]], added: Addition) -> None:
    if added.topic in topics:
        topics[added.topic] = [state for state in topics[added.topic] if state[0] != added.partition]


def _not_recovered(value: dict[str, Any], added: Addition) -> None:
    place = (added.topic, added.partition)
    value["partitions"] = [one for one in value["partitions"] if (one["topic"], one["partition"]) != place]
