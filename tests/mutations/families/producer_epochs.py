"""Epochs of producers and coordinators in the markers of logs, as no coordinator and no broker has them.

The recorded clients speak transactions of version 1: batches and commit markers have one epoch.  Only what
comes last of a producer in a log is changed, so that no later batch is out of order.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from tests.mutations.batches import Columns, rewritten
from tests.mutations.edits import Edit
from tests.mutations.families.transactions import committed, of_nobody, sent
from tests.mutations.looking import columns_of, replicas
from tests.mutations.suite import invalid, mutation

ABORT, COMMIT = 0, 1
TXN = ("txn", "copy")


class Ending(NamedTuple):
    """What a log has last of a producer: offsets and types of control records, -1 for batches."""

    topic: str
    partition: int
    producer: int
    epoch: int
    rows: tuple[tuple[int, int], ...]

    def at(self, place: int) -> int:
        """Offset of one of the last batches and markers, -1 being the last."""
        return self.rows[place][0]


def _endings(edit: Edit, *types: int) -> list[Ending]:
    """What logs have last of producers, where these are the types; of one epoch, and not the first."""
    found = []
    for topic in edit.original.of("setup")[0].value["topics"]:
        for number in range(topic["partitions"]):
            copies = replicas(edit.original, topic["name"], number)
            if copies:
                found += _in_log(columns_of(copies[0]), (topic["name"], number), types)
    return found


def _in_log(columns: Columns, place: tuple[str, int], types: tuple[int, ...]) -> list[Ending]:
    rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    names = ("producer_id", "base_offset", "control", "producer_epoch", "attributes")
    for producer, offset, control, epoch, flags in zip(
        *(columns[name].tolist() for name in names), strict=True
    ):
        if flags & 0x10:
            rows[producer].append((offset, control, epoch))
    found = []
    for producer, written in rows.items():
        last = written[-len(types) :]
        if tuple(control for _, control, _ in last) == types and len({epoch for *_, epoch in last}) == 1:
            some = tuple((offset, control) for offset, control, _ in last)
            found.append(Ending(*place, producer, last[0][2], some))
    return found


def _on_all(edit: Edit, ending: Ending, change: Callable[[Columns, int], None], *offsets: int) -> None:
    """Change the rows at some offsets on all replicas."""

    def changed(columns: Columns) -> None:
        for offset in offsets:
            change(columns, int((columns["base_offset"] == offset).argmax()))

    for replica in replicas(edit.original, ending.topic, ending.partition):
        edit.change(replica.index, rewritten(changed))


def _raise(by: int, column: str = "producer_epoch") -> Callable[[Columns, int], None]:
    def change(columns: Columns, row: int) -> None:
        columns[column][row] += by

    return change


def _begin_epoch(columns: Columns, row: int) -> None:
    columns["producer_epoch"][row] += 1
    columns["base_sequence"][row] = 0


def _abort_raised(columns: Columns, row: int) -> None:
    columns["producer_epoch"][row] += 1
    columns["control"][row] = ABORT


@mutation("epochs", invalid("marker-of-another-transaction"), TXN, 4)
def a_commit_two_epochs_later(edit: Edit) -> None:
    """On all replicas the commit marker after a batch has an epoch that is higher by two."""
    ending = edit.chosen(_endings(edit, -1, COMMIT))
    _on_all(edit, ending, _raise(2), ending.at(-1))


@mutation("epochs", invalid("marker-of-another-transaction"), TXN, 4)
def a_late_marker_of_the_transaction_before(edit: Edit) -> None:
    """After a commit that raised the epoch, a batch of that epoch has a marker of the same epoch."""
    ending = edit.chosen(_endings(edit, -1, COMMIT, -1, COMMIT))
    _on_all(edit, ending, _raise(1), ending.at(-3), ending.at(-1))
    _on_all(edit, ending, _begin_epoch, ending.at(-2))


@mutation("epochs", invalid("marker-of-another-transaction"), ("txn", "listed-txn"), 4)
def one_epoch_committed_here_and_aborted_there(edit: Edit) -> None:
    """An epoch of a producer has a commit with the next epoch in one partition, and an abort in another."""
    by_epoch: dict[tuple[int, int], list[Ending]] = defaultdict(list)
    for ending in _endings(edit, -1, COMMIT):
        by_epoch[ending.producer, ending.epoch].append(ending)
    first, second = edit.chosen([some[:2] for some in by_epoch.values() if some[1:]])
    _on_all(edit, first, _raise(1), first.at(-1))
    _on_all(edit, second, _abort_raised, second.at(-1))


@mutation("epochs", invalid("transaction-epoch-shared"), ("txn", "listed-txn"), 4)
def two_transactions_of_one_epoch(edit: Edit) -> None:
    """Two transactions of one epoch have commits with the next epoch, each in its own partition."""
    sender = {record[:2] + record[3:]: done.index for done in committed(edit) for record in sent(done)}
    by_epoch: dict[tuple[int, int], dict[int, Ending]] = defaultdict(dict)
    for ending in _endings(edit, -1, COMMIT):
        operation = sender.get((ending.topic, ending.partition, ending.at(-2)))
        if operation is not None:
            by_epoch[ending.producer, ending.epoch][operation] = ending
    for ending in edit.chosen([[*some.values()][:2] for some in by_epoch.values() if len(some) > 1]):
        _on_all(edit, ending, _raise(1), ending.at(-1))


@mutation("epochs", invalid("marker-shared"), ("txn", "listed-txn"), 2)
def two_epochs_before_one_marker(edit: Edit) -> None:
    """Another record is in place of an abort marker, and the next batch has the next epoch."""
    ending = edit.chosen(_endings(edit, -1, ABORT, -1, COMMIT))
    _on_all(edit, ending, of_nobody, ending.at(-3))
    _on_all(edit, ending, _begin_epoch, ending.at(-2))
    _on_all(edit, ending, _raise(1), ending.at(-1))


@mutation("epochs", invalid("producer-epoch-regression"), ("txn", "listed-txn"), 4)
def a_marker_of_an_old_epoch(edit: Edit) -> None:
    """On all replicas the marker after a batch has an older producer epoch."""
    ending = edit.chosen([each for each in _endings(edit, -1, COMMIT) if each.epoch > 0])
    _on_all(edit, ending, _raise(-1), ending.at(-1))


@mutation("epochs", invalid("coordinator-epoch-regression"), TXN, 4)
def a_marker_of_a_replaced_coordinator(edit: Edit) -> None:
    """On all replicas a marker has an older coordinator epoch than the one before it."""
    ending = edit.chosen(_endings(edit, COMMIT, -1, COMMIT))
    _on_all(edit, ending, _raise(1, "coordinator_epoch"), ending.at(-3))
