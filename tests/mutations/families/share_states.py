"""The share coordinators' logs, made from the acknowledgements that brokers confirmed."""

from collections.abc import Callable
from typing import Any

from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import History
from checkers.history.packing import packed_rows
from checkers.history.setup import recorded_setup
from checkers.history.share_states import (
    EVIDENCE_SHARES,
    SHARE_BATCH_TYPES,
    SHARE_STATE_TYPES,
    SHARE_STATES,
    Delivery,
    Kind,
)
from tests.mutations.edits import Edit, replaced
from tests.mutations.families.lost_states import lose_logs
from tests.mutations.families.share import FINAL, RUNS, Given, given
from tests.mutations.looking import OK, SECOND_NS, phase_ns
from tests.mutations.suite import VALID, invalid, mutation, unknown

FAMILY = "share-states"
_STATES = {
    "accept": Delivery.ACKNOWLEDGED,
    "release": Delivery.AVAILABLE,
    "reject": Delivery.ARCHIVED,
}
_EPOCH, _PARTITION, _SNAPSHOT, _START, _STATE_EPOCH = (
    [*SHARE_STATE_TYPES].index(name)
    for name in ("share_epoch", "place", "snapshot_epoch", "start", "state_epoch")
)
_STATE, _COUNT = ([*SHARE_BATCH_TYPES].index(name) for name in ("state", "count"))
_MORE = 7
"""By how much a delivery count is too high; the run has a lower limit."""
_LATER = 200
"""By how many records a state is late; the run has a few members, so their requests overlap by fewer."""
Row = tuple[list[int], list[list[int]]]
"""A record and its batches; offset and number of batches are set at the end."""


def _row(partition: int, *batches: list[int], kind: Kind = Kind.UPDATE) -> Row:
    state = 0 if kind is Kind.SNAPSHOT else -1
    return [0, 0, partition, kind, 0, state, 1, 0, 0], [*batches]


def confirmed_ones(history: History) -> list[Given]:
    """Records whose acknowledgement was confirmed, in the order of the confirmations."""
    confirmed = [
        (one.settled_by[1].index, n, one)
        for n, one in enumerate(given(history))
        if one.confirmed and one.settled_by
    ]
    return [one for *_, one in sorted(confirmed)]


def _log(settled: list[Given], partitions: int) -> list[Row]:
    rows = [_row(partition, kind=Kind.SNAPSHOT) for partition in range(partitions)]
    return rows + [
        _row(one.partition, [one.offset, one.offset, _STATES[one.type], one.count]) for one in settled
    ]


def tell_states(
    edit: Edit, change: Callable[[list[Row], int, Given], object] | None = None, **fields: Any
) -> None:
    """Let all logs be recorded, of which one has all records; `change` changes it in place.

    Args:
        edit: the history.
        change: gets the log, the place of a record in it that has a final state, and what that is about.
        fields: other fields of the observation of this log.
    """
    topic = recorded_setup(edit.original).topics[0]
    settled = confirmed_ones(edit.original)
    rows = _log(settled, topic.partitions)
    final = [n for n, one in enumerate(settled) if one.type in FINAL and n < len(settled) - 2 * _LATER]
    place = edit.chosen(final)
    if change is not None:
        change(rows, place + topic.partitions, settled[place])
    replica = next(iter(edit.original.observed("replica")))
    at_ns = max(o.time_ns for o in edit.original.observed("replica"))
    numbers = {
        name.partition for name in partition_changes(edit.original).states if name.topic == SHARES_TOPIC
    }
    for number in sorted(numbers | {0}):
        mine = rows if number == 0 else []
        records = [[n, *row[1:-1], len(batches)] for n, (row, batches) in enumerate(mine)]
        states = [batch for _, batches in mine for batch in batches]
        places = [["share-0", topic.topic_id, partition] for partition in range(topic.partitions)]
        value: dict[str, Any] = {"began_ns": at_ns, "partition": number, "end": len(mine), "unread": []}
        value |= {"places": places, "count": len(mine), "columns": packed_rows(records, SHARE_STATE_TYPES)}
        value |= {"batch_count": len(states), "batches": packed_rows(states, SHARE_BATCH_TYPES)}
        value |= {"error": None} | (fields if number == 0 else {})
        edit.add(replica, at_ns + 1_000, type=OK, key=SHARE_STATES, value=value)


def _lost(rows: list[Row], _: int, one: Given) -> None:
    """The record gets no final state, and is left as it is by others too."""
    for _fields, batches in rows:
        batches[:] = [b for b in batches if b[0] != one.offset or b[2] == Delivery.AVAILABLE]


def _late(rows: list[Row], place: int, _: Given) -> None:
    rows.insert(place + _LATER, rows.pop(place))


def _undone(rows: list[Row], _: int, one: Given) -> None:
    rows.append(_row(one.partition, [one.offset, one.offset, Delivery.AVAILABLE, one.count + 9]))


def _older(rows: list[Row], place: int, _: Given) -> None:
    rows[place][0][_EPOCH] -= 1


def _snapshot(rows: list[Row], partition: int, *without: int) -> None:
    """A snapshot is written at the end, with all final states except some."""
    finals = {
        batch[0]: batch
        for fields, batches in rows
        for batch in batches
        if fields[_PARTITION] == partition and batch[2] != Delivery.AVAILABLE
    }
    row = _row(partition, *(finals[o] for o in sorted(finals) if o not in without), kind=Kind.SNAPSHOT)
    row[0][_SNAPSHOT] = 1
    rows.append(row)


def _initialised_again(rows: list[Row], partition: int, place: int) -> None:
    """The state is initialised at a place of the log as if the group began to read the partition."""
    row = _row(partition, kind=Kind.SNAPSHOT)
    row[0][_EPOCH], row[0][_SNAPSHOT], row[0][_START], row[0][_STATE_EPOCH] = 0, 1, -1, 5
    for fields, _ in rows[place:]:
        fields[_SNAPSHOT] += fields[_PARTITION] == partition
    rows.insert(place, row)


@mutation(FAMILY, VALID, RUNS, 2)
def all_states_are_as_they_were_confirmed(edit: Edit) -> None:
    """The share coordinators' logs have a state for each confirmed acknowledgement."""
    tell_states(edit)


@mutation(FAMILY, invalid("share-answered-early"), RUNS, 3)
def a_final_state_is_not_there(edit: Edit) -> None:
    """In the share coordinator's log, an accepted or rejected record has no final state."""
    tell_states(edit, _lost)


@mutation(FAMILY, invalid("share-answered-early"), RUNS, 3)
def a_final_state_is_late(edit: Edit) -> None:
    """In the share coordinator's log, a final state follows states that were requested after its answer."""
    tell_states(edit, _late)


@mutation(FAMILY, invalid("share-state-undone"), RUNS, 3)
def a_final_state_is_undone(edit: Edit) -> None:
    """In the share coordinator's log, an accepted or rejected record becomes available in the end."""
    tell_states(edit, _undone)


@mutation(FAMILY, invalid("share-state-unasked"), RUNS, 3)
def a_rejection_is_stored_as_an_acceptance(edit: Edit) -> None:
    """In the share coordinator's log, a record is Acknowledged that was only rejected."""
    accepted = {(one.partition, one.offset) for one in given(edit.original) if one.type == "accept"}
    settled = confirmed_ones(edit.original)
    rejected = [n for n, one in enumerate(settled) if one.type == "reject"]
    place = edit.chosen([n for n in rejected if (settled[n].partition, settled[n].offset) not in accepted])

    def changed(rows: list[Row], _: int, __: Given) -> None:
        rows[place - len(settled)][1][0][2] = Delivery.ACKNOWLEDGED

    tell_states(edit, changed)


@mutation(FAMILY, invalid("share-state-miscounted"), RUNS, 2)
def accepted_records_have_another_delivery_count(edit: Edit) -> None:
    """In the share coordinator's log, accepted records of a partition have a higher count than deliveries."""

    def changed(rows: list[Row], _: int, one: Given) -> None:
        for fields, batches in rows:
            for batch in batches if fields[_PARTITION] == one.partition else ():
                batch[_COUNT] += _MORE * (batch[_STATE] == Delivery.ACKNOWLEDGED)

    tell_states(edit, changed)


@mutation(FAMILY, invalid("share-state-epoch-back"), RUNS, 3)
def a_leader_epoch_is_lower(edit: Edit) -> None:
    """In the share coordinator's log, a state has the leader epoch before that of earlier states."""
    tell_states(edit, _older)


@mutation(FAMILY, unknown("__share_group_state-0 was not read"), RUNS, 1)
def a_log_was_not_read(edit: Edit) -> None:
    """The disk of a share coordinator could not be read."""
    gone: dict[str, Any] = {"count": 0, "columns": {}, "batch_count": 0, "batches": {}}
    tell_states(edit, error="OSError: Input/output error", **gone)


@mutation(FAMILY, unknown("__share_group_state-0 has records that can't be decoded"), RUNS, 1)
def a_record_can_not_be_decoded(edit: Edit) -> None:
    """A share coordinator's log has a record of another format."""
    tell_states(edit, unread=[0])


@mutation(FAMILY, unknown("records of __share_group_state-. were not gathered"), RUNS, 1)
def no_states_were_gathered(edit: Edit) -> None:
    """The run had to gather the share coordinators' logs, and there is none."""
    (setup,) = edit.original.of("setup")
    edit.change(setup.index, lambda value: value | {"evidence": [*value["evidence"], EVIDENCE_SHARES]})


@mutation(FAMILY, VALID, RUNS, 2)
def a_snapshot_has_all_final_states(edit: Edit) -> None:
    """The share coordinator writes a snapshot at the end, with all final states."""
    tell_states(edit, lambda rows, _, one: _snapshot(rows, one.partition))


@mutation(FAMILY, invalid("share-snapshot-incomplete"), RUNS, 3)
def a_snapshot_lacks_a_final_state(edit: Edit) -> None:
    """The share coordinator writes a snapshot at the end, without one of the final states."""
    tell_states(edit, lambda rows, _, one: _snapshot(rows, one.partition, one.offset))


@mutation(FAMILY, invalid("share-state-start-back"), RUNS, 3)
def a_start_offset_is_lower(edit: Edit, **fields: Any) -> None:
    """In the share coordinator's log, a record has a start offset, and the next ones an earlier one."""

    def changed(rows: list[Row], place: int, one: Given) -> None:
        rows[place][0][_START] = one.offset + 1

    tell_states(edit, changed, **fields)


def _lost_by_a_start_offset(edit: Edit, accepted: str, **fields: Any) -> None:
    """A start offset goes back after the states may have been lost, in a run that may have an anomaly."""
    a_start_offset_is_lower(edit, **fields)
    numbers = [
        name.partition for name in partition_changes(edit.original).states if name.topic == SHARES_TOPIC
    ]
    loss_ns = phase_ns(edit.original, "heal") - 15 * SECOND_NS
    lose_logs(edit, [f"{SHARES_TOPIC}-{number}" for number in numbers], loss_ns)
    (setup,) = edit.original.of("setup")
    edit.change(setup.index, lambda value: replaced(value, expected="valid", expected_anomalies=[accepted]))


@mutation(FAMILY, unknown("share-state-start-back of .* may follow from", as_expected=True), RUNS, 2)
def a_start_offset_that_a_scenario_accepts_may_have_been_lost(edit: Edit) -> None:
    """A start offset goes back after the disks with it died; the scenario accepts that it goes back."""
    _lost_by_a_start_offset(edit, "share-state-start-back")


@mutation(FAMILY, unknown("share-state-start-back of .* may follow from", as_expected=False), RUNS, 1)
def a_start_offset_that_no_scenario_accepts_may_have_been_lost(edit: Edit) -> None:
    """A start offset goes back after the disks with it died; the scenario accepts another anomaly."""
    _lost_by_a_start_offset(edit, "share-state-initialised-again")


@mutation(FAMILY, unknown("has records that can't be decoded", as_expected=False), RUNS, 1)
def a_start_offset_that_a_scenario_accepts_is_not_all(edit: Edit) -> None:
    """The same, and a share coordinator's log also has a record of another format."""
    _lost_by_a_start_offset(edit, "share-state-start-back", unread=[0])


@mutation(FAMILY, VALID, RUNS, 2)
def start_offsets_move_forward(edit: Edit) -> None:
    """In the share coordinator's log, all later records of a share partition have a higher start offset."""

    def changed(rows: list[Row], place: int, one: Given) -> None:
        for fields, _ in rows[place:]:
            if fields[_PARTITION] == one.partition:
                fields[_START] = one.offset + 1

    tell_states(edit, changed)


@mutation(FAMILY, invalid("share-state-initialised-again"), RUNS, 3)
def a_state_is_initialised_again(edit: Edit) -> None:
    """The share coordinator initialises a state a second time, after the states of many records."""
    tell_states(edit, lambda rows, place, one: _initialised_again(rows, one.partition, place + 1))


@mutation(FAMILY, VALID, RUNS, 2)
def a_state_is_initialised_twice_before_its_use(edit: Edit) -> None:
    """The share coordinator initialises a state twice, before it has states of records."""
    partitions = recorded_setup(edit.original).topics[0].partitions
    tell_states(edit, lambda rows, _, one: _initialised_again(rows, one.partition, partitions))
