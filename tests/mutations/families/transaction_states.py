"""The coordinators' logs of transactions' states, made from the markers in the logs of the run's topics."""

from collections.abc import Callable
from typing import Any, NamedTuple

from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import History
from checkers.history.packing import packed_rows
from checkers.history.transaction_states import (
    EVIDENCE_STATES,
    STATE_TYPES,
    TRANSACTION_STATES,
    Status,
)
from tests.mutations.edits import Edit
from tests.mutations.looking import OK, columns_of
from tests.mutations.suite import VALID, invalid, mutation, unknown

FAMILY = "transaction-states"
RUNS = ("txn", "copy")
_OFFSET, _STATUS, _PRODUCER, _EPOCH, _SET, _STARTED = (
    [*STATE_TYPES].index(name)
    for name in ("offset", "status", "producer_id", "producer_epoch", "partitions", "started_ms")
)
_COMMIT = 1
_PREPARED = {False: Status.PREPARE_ABORT, True: Status.PREPARE_COMMIT}
_COMPLETE = {False: Status.COMPLETE_ABORT, True: Status.COMPLETE_COMMIT}
Row = list[int]


class Logs(NamedTuple):
    """The coordinators' logs: rows and names by partition, sets of partitions, and when they were read."""

    rows: dict[int, list[Row]]
    ids: dict[int, list[str]]
    sets: dict[int, list[dict[str, list[int]]]]
    at_ns: int


def _ended(history: History) -> dict[tuple[int, int, bool], dict[str, list[int]]]:
    """Producer, epoch and kind of all markers, with the partitions that have them."""
    found: dict[tuple[int, int, bool], dict[str, list[int]]] = {}
    for replica in (o for o in history.observed("replica") if o.value["error"] is None):
        columns = columns_of(replica)
        names = ("producer_id", "producer_epoch", "control")
        for producer, epoch, control in zip(*(columns[name].tolist() for name in names), strict=True):
            if control in {0, _COMMIT}:
                topics = found.setdefault((producer, epoch, control == _COMMIT), {})
                numbers = topics.setdefault(replica.value["topic"], [])
                if replica.value["partition"] not in numbers:
                    numbers.append(replica.value["partition"])
    return found


def _logs(history: History) -> Logs:
    """What coordinators write if each producer has its transactions in the order of its epochs."""
    number = sum(name.topic == TRANSACTIONS_TOPIC for name in partition_changes(history).states)
    logs = Logs(
        {each: [] for each in range(number)},
        {each: [] for each in range(number)},
        {each: [] for each in range(number)},
        max(o.time_ns for o in history.observed("replica")),
    )
    for (producer, epoch, commits), topics in sorted(_ended(history).items(), key=lambda each: each[0]):
        where = producer % number
        rows, ids, sets = logs.rows[where], logs.ids[where], logs.sets[where]
        name = f"t-{producer}"
        states = [(Status.ONGOING, 0), (_PREPARED[commits], 0), (_COMPLETE[commits], -1)]
        if name not in ids:
            ids.append(name)
            before = epoch - 1
        else:
            before = next(row[_EPOCH] for row in reversed(rows) if row[_PRODUCER] == producer)
        sets.append(topics)
        for raised in range(before + 1, epoch + 1):
            rows.append(
                [len(rows), 0, ids.index(name), Status.EMPTY, producer, raised, -1, -1, -1, 1, 6000, -1, 2, 2]
            )
        for status, named in states:
            place = len(sets) - 1 if named == 0 else -1
            entry = [len(rows), 0, ids.index(name), status, producer, epoch, -1, -1, -1, 1, 6000, place, 2, 2]
            rows.append(entry)
    return logs


def _tell(edit: Edit, change: Callable[[list[Row], Row], object] | None = None, **fields: Any) -> None:
    """Let all logs be recorded; `change` gets the rows of one log, and a decision of which all is known.

    Args:
        edit: the history.
        change: changes one of the logs in place.
        fields: other fields of the observation of this log.
    """
    logs = _logs(edit.original)
    decisions = [
        (number, row)
        for number, rows in logs.rows.items()
        for row in rows
        if row[_STATUS] == Status.PREPARE_COMMIT and rows[row[_OFFSET] + 1][_STATUS] == Status.COMPLETE_COMMIT
    ]
    number, row = edit.chosen(decisions)
    if change is not None:
        change(logs.rows[number], row)
    replica = next(iter(edit.original.observed("replica")))
    for each, rows in logs.rows.items():
        value: dict[str, Any] = {"began_ns": logs.at_ns, "partition": each, "end": len(rows), "unread": []}
        value |= {"settled": len(rows), "ids": logs.ids[each], "sets": logs.sets[each], "error": None}
        value |= {"count": len(rows), "columns": packed_rows(rows, STATE_TYPES)}
        value |= fields if each == number else {}
        edit.add(replica, logs.at_ns + 1_000, type=OK, key=TRANSACTION_STATES, value=value)


def _to(place: int, by: int, later: int = 0) -> Callable[[list[Row], Row], None]:
    """Adds to one number of the decision, or of a later record."""

    def changed(rows: list[Row], row: Row) -> None:
        rows[row[_OFFSET] + later][place] += by

    return changed


def _decided_otherwise(rows: list[Row], row: Row) -> None:
    rows[row[_OFFSET] + 1][_STATUS] = Status.COMPLETE_ABORT
    row[_STATUS] = Status.PREPARE_ABORT


def _without_partitions(_: list[Row], row: Row) -> None:
    row[_SET] = -1


def _with_a_lower_epoch(rows: list[Row], row: Row) -> None:
    """The records before it have an epoch that is higher by one."""
    for other in rows[: row[_OFFSET]]:
        if other[_PRODUCER] == row[_PRODUCER]:
            other[_EPOCH] += row[_EPOCH] + 1 if other[_STATUS] in {Status.EMPTY, Status.ONGOING} else 0


@mutation(FAMILY, VALID, RUNS, 2)
def all_states_follow_each_other(edit: Edit) -> None:
    """The coordinators' logs have a decision and a completion for each marker."""
    _tell(edit)


@mutation(FAMILY, invalid("transaction-state-illegal"), RUNS, 3)
def a_commit_is_completed_as_an_abort(edit: Edit) -> None:
    """In a coordinator's log, CompleteAbort follows PrepareCommit."""
    _tell(edit, _to(_STATUS, 1, later=1))


@mutation(FAMILY, invalid("transaction-state-illegal"), RUNS, 3)
def a_decision_is_not_there(edit: Edit) -> None:
    """In a coordinator's log, CompleteCommit follows Ongoing."""
    _tell(edit, _to(_STATUS, Status.ONGOING - Status.PREPARE_COMMIT))


@mutation(FAMILY, invalid("transaction-epoch-back"), RUNS, 3)
def a_decision_has_a_lower_epoch(edit: Edit) -> None:
    """In a coordinator's log, the decision has a lower epoch than all records of its producer before it."""
    _tell(edit, _with_a_lower_epoch)


@mutation(FAMILY, invalid("transaction-epoch-back"), RUNS, 3)
def a_decision_has_another_producer(edit: Edit) -> None:
    """In a coordinator's log, the decision has another producer id than its transaction."""
    _tell(edit, _to(_PRODUCER, 2**40))


@mutation(FAMILY, invalid("transaction-partition-dropped"), RUNS, 3)
def a_decision_lacks_partitions(edit: Edit) -> None:
    """In a coordinator's log, the decision does not have the partitions of its transaction."""
    _tell(edit, _without_partitions)


@mutation(FAMILY, invalid("marker-without-decision", "completed-without-marker"), RUNS, 3)
def a_transaction_is_decided_otherwise(edit: Edit) -> None:
    """In a coordinator's log, a transaction is aborted, and its markers are commits."""
    _tell(edit, _decided_otherwise)


@mutation(FAMILY, unknown("__transaction_state-. was not read"), RUNS, 1)
def a_log_was_not_read(edit: Edit) -> None:
    """The disk of a coordinator could not be read."""
    _tell(edit, count=0, columns={}, error="OSError: Input/output error")


@mutation(FAMILY, unknown("__transaction_state-. has records that can't be decoded"), RUNS, 1)
def a_record_can_not_be_decoded(edit: Edit) -> None:
    """A coordinator's log has a record of another format."""
    _tell(edit, unread=[0])


@mutation(FAMILY, unknown("records of __transaction_state-. were not gathered"), RUNS, 1)
def no_states_were_gathered(edit: Edit) -> None:
    """The run had to gather the coordinators' logs, and there is none."""
    edit.change(0, lambda setup: setup | {"evidence": [*setup["evidence"], EVIDENCE_STATES]})


@mutation(FAMILY, invalid("transaction-start-wrong"), RUNS, 3)
def a_transaction_has_an_earlier_start(edit: Edit) -> None:
    """In the coordinator's log, a transaction has a start time that is earlier than its first record."""

    def started(rows: list[Row], row: Row) -> None:
        for place in range(row[_OFFSET] - 1, row[_OFFSET] + 2):
            rows[place][_STARTED] -= 1

    _tell(edit, started)
