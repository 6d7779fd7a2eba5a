"""Leader-epoch checkpoints of replicas, against batches, each other and the metadata log's elections."""

from typing import Any

from checkers.history.operations import Operation
from tests.mutations.batches import unpacked
from tests.mutations.edits import Edit
from tests.mutations.looking import replicas
from tests.mutations.partitions import own
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("chaos", "smoke", "moves", "disks", "txn", "copy")
DISAGREES = ("epoch-note-contradicted", "epoch-start-divergence", "epoch-without-election")


def checkpoints(edit: Edit, least: int = 2) -> list[Operation]:
    """Checkpoints of the run's own topics with some entries at least."""
    return [
        o
        for o in edit.original.observed("leader-epochs")
        if len(o.value["entries"]) >= least and o.value["topic"] in own(edit.original)
    ]


def _rows(edit: Edit, seen: Operation) -> dict[int, int]:
    """First offset of each epoch of which the replica holds batches."""
    found: dict[int, int] = {}
    for replica in replicas(edit.original, seen.value["topic"], seen.value["partition"]):
        if replica.node == seen.node:
            columns = unpacked(replica.value)
            epochs, offsets = columns["leader_epoch"].tolist(), columns["base_offset"].tolist()
            for epoch, offset in zip(epochs, offsets, strict=True):
                found.setdefault(epoch, offset)
    return found


@mutation("checkpoints", invalid(*DISAGREES), RUNS, 2)
def start_within_the_epoch_before(edit: Edit) -> None:
    """In a replica's checkpoint, an epoch begins below batches that it has of the epoch before."""
    seen = edit.chosen(
        o for o in checkpoints(edit) if o.value["entries"][-1][1] > o.value["entries"][-2][1] + 2
    )
    edit.change(seen.index, lambda value: _shift(value["entries"][-1], -2))


@mutation("checkpoints", invalid(*DISAGREES), RUNS, 2)
def start_behind_its_batches(edit: Edit) -> None:
    """In a replica's checkpoint, an epoch begins after batches that it has of that epoch."""
    seen = edit.chosen(o for o in checkpoints(edit) if o.value["entries"][-1][0] in _rows(edit, o))
    edit.change(seen.index, lambda value: _shift(value["entries"][-1], 2))


@mutation("checkpoints", invalid(*DISAGREES), RUNS, 2)
def start_behind_its_batches_on_all(edit: Edit) -> None:
    """In all checkpoints an epoch begins at the same offset, after batches that replicas have of it."""
    seen = edit.chosen(o for o in checkpoints(edit) if o.value["entries"][-1][0] in _rows(edit, o))
    for other in checkpoints(edit, least=1):
        same = (other.value["topic"], other.value["partition"]) == (
            seen.value["topic"],
            seen.value["partition"],
        )
        if same and other.value["entries"][-1][0] == seen.value["entries"][-1][0]:
            edit.change(other.index, lambda value: _shift(value["entries"][-1], 2))


def _shift(entry: list[int], by: int) -> None:
    entry[1] += by


@mutation("checkpoints", invalid(*DISAGREES), RUNS, 2)
def an_epoch_of_its_batches_is_missing(edit: Edit) -> None:
    """A replica has batches of an epoch that its checkpoint lacks, between epochs that it has."""
    places = [
        (o.index, entry)
        for o in checkpoints(edit, least=2)
        for entry in o.value["entries"][:-1]
        if entry[0] in _rows(edit, o)
    ]
    index, entry = edit.chosen(places)
    edit.change(index, lambda value: value["entries"].remove(entry))


@mutation("checkpoints", invalid(*DISAGREES), RUNS, 2)
def an_epoch_that_no_election_began(edit: Edit) -> None:
    """A replica's checkpoint ends with an epoch that the metadata log does not have."""
    seen = edit.chosen(checkpoints(edit, least=1))
    ends = {
        o.node: o.value["end"] for o in replicas(edit.original, seen.value["topic"], seen.value["partition"])
    }
    edit.change(
        seen.index, lambda value: value["entries"].append([value["entries"][-1][0] + 9, ends[seen.node]])
    )


@mutation("checkpoints", invalid(*DISAGREES), RUNS, 1)
def out_of_order(edit: Edit) -> None:
    """The starts of two epochs in a replica's checkpoint are swapped."""
    seen = edit.chosen(o for o in checkpoints(edit) if o.value["entries"][-1][1] != o.value["entries"][-2][1])
    edit.change(seen.index, lambda value: _exchange(value["entries"]))


def _exchange(entries: list[Any]) -> None:
    entries[-1][1], entries[-2][1] = entries[-2][1], entries[-1][1]


@mutation("checkpoints", VALID, RUNS, 1)
def told_a_second_time(edit: Edit) -> None:
    """A replica's checkpoint is read twice, and is the same both times."""
    seen = edit.chosen(checkpoints(edit, least=1))
    edit.add(seen, seen.time_ns + 1)


OWN = ("commits",)


def _of_kafka(edit: Edit) -> list[Operation]:
    """Checkpoints of Kafka's own topics with two entries or more."""
    return [
        o
        for o in edit.original.observed("leader-epochs")
        if len(o.value["entries"]) > 1 and o.value["topic"].startswith("__")
    ]


@mutation("checkpoints", invalid("epoch-start-divergence"), OWN, 3)
def another_start_in_a_topic_of_kafka(edit: Edit) -> None:
    """For a partition of __consumer_offsets, one replica's checkpoint has another start of an epoch."""
    edit.change(edit.chosen(_of_kafka(edit)).index, lambda value: _shift(value["entries"][-1], 3))


@mutation("checkpoints", invalid("epoch-without-election"), OWN, 3)
def an_unelected_epoch_in_a_topic_of_kafka(edit: Edit) -> None:
    """For a partition of __consumer_offsets, a checkpoint has an epoch that the metadata log lacks."""
    seen = edit.chosen(_of_kafka(edit))
    edit.change(seen.index, lambda v: v["entries"].append([v["entries"][-1][0] + 9, v["entries"][-1][1] + 9]))


@mutation("checkpoints", invalid("epoch-note-contradicted"), OWN, 3)
def out_of_order_in_a_topic_of_kafka(edit: Edit) -> None:
    """For a partition of __consumer_offsets, the starts of two epochs in a checkpoint are swapped."""
    edit.change(edit.chosen(_of_kafka(edit)).index, lambda value: _exchange(value["entries"]))


@mutation("checkpoints", VALID, OWN, 1)
def the_last_epoch_is_not_noted_in_a_topic_of_kafka(edit: Edit) -> None:
    """For a partition of __consumer_offsets, a checkpoint lacks the last epoch, which may be empty."""
    edit.change(edit.chosen(_of_kafka(edit)).index, lambda value: value["entries"].pop() and None)
