"""Reassignments and elections that admins ask for, against the metadata log; and how many were answered."""

from typing import Any

from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, INFO, OK, SECOND_NS, phase_ns
from tests.mutations.partitions import (
    CHANGE,
    State,
    change_record,
    drop_records,
    epoch_at,
    gaps,
    insert_record,
    longest,
    own,
    spans,
    states,
)
from tests.mutations.suite import VALID, invalid, mutation, unknown

MOVING = ("moves",)
RUNS = ("chaos", "smoke", "moves", "disks")
ASKED = ("chaos", "format-1", "moves", "disks")
_ASSIGNMENT = ("replicas", "removingReplicas", "addingReplicas", "directories")


def _late(edit: Edit) -> tuple[State, int]:
    """A state of an own partition that lasts, and a gap of the log in it after all faults."""
    history = edit.original
    span, from_ns = spans(history), phase_ns(history, "load")
    free = [gap for gap in gaps(history) if span(gap)[0] > from_ns]
    chosen: tuple[State, int] = edit.chosen(
        (state, next(gap for gap in reversed(free) if state.offset < gap < state.until))
        for state in states(history)
        if state.topic in own(history)
        and len(state.isr) == len(state.replicas)
        and state.until == longest(history).value["end"]
        and any(state.offset < gap < state.until for gap in free)
    )
    return chosen


def _change(edit: Edit, state: State, gap: int, **fields: object) -> None:
    names = {"partitionId": state.partition, "topicId": state.topic_id}
    insert_record(edit, gap, CHANGE, names | fields, epoch_at(edit.original, gap))


@mutation("administration", invalid("assigned-to-cordoned"), MOVING, 2)
def a_replica_for_a_cordoned_broker(edit: Edit) -> None:
    """All log directories of a broker are cordoned shortly before a reassignment makes it a replica."""
    gap, registered = _before_a_replica(edit)
    fields = {name: registered[name] for name in ("brokerId", "brokerEpoch")}
    cordoned = fields | {"cordonedLogDirs": registered["logDirs"]}
    insert_record(edit, gap, "BROKER_REGISTRATION_CHANGE_RECORD", cordoned)


@mutation("administration", invalid("assigned-to-unregistered"), MOVING, 2)
def a_replica_for_an_unregistered_broker(edit: Edit) -> None:
    """A broker's registration is removed shortly before a reassignment makes it a replica."""
    gap, registered = _before_a_replica(edit)
    insert_record(
        edit,
        gap,
        "UNREGISTER_BROKER_RECORD",
        {name: registered[name] for name in ("brokerId", "brokerEpoch")},
    )


def _before_a_replica(edit: Edit) -> tuple[int, dict[str, Any]]:
    """A gap of the log before a broker becomes a replica, and the broker's registration."""
    history = edit.original
    registrations: dict[int, tuple[int, dict[str, Any]]] = {}
    replicas: dict[tuple[str, int], list[int]] = {}
    known = {state.offset: state for state in states(history)}
    places = []
    for offset, _, kind, data in longest(history).value["records"]:
        if kind == "REGISTER_BROKER_RECORD":
            registrations[data["brokerId"]] = offset, data
        state = known.get(offset)
        if state is not None:
            before = replicas.get((state.topic, state.partition), state.replicas)
            replicas[state.topic, state.partition] = state.replicas
            for broker in set(state.replicas) - set(before):
                since, registered = registrations[broker]
                places += [(gap, registered) for gap in gaps(history) if since < gap < offset][-1:]
    chosen: tuple[int, dict[str, Any]] = edit.chosen(places)
    return chosen


_REPLICAS = ("reassignment-unasked", "reassignment-lost")


@mutation("administration", invalid("too-few-replicas", "reassignment-not-restored"), RUNS, 2)
def a_replica_less(edit: Edit) -> None:
    """A record removes a replica of a partition, and nobody requested that."""
    state, gap = _late(edit)
    left = [state.leader, *[r for r in state.replicas if r != state.leader][:-1]]
    _change(edit, state, gap, replicas=left, isr=left)


@mutation("administration", invalid(*_REPLICAS), ("chaos", "moves"), 2)
def another_replica_instead(edit: Edit) -> None:
    """A record replaces a replica of a partition by another node, and nobody requested that."""
    state, gap = _late(edit)
    other = next(r for r in (1, 2, 3, 4) if r not in state.replicas)
    now = [state.leader, *[r for r in state.replicas if r != state.leader][:-1], other]
    _change(edit, state, gap, replicas=now, isr=now)


@mutation("administration", invalid("reassignment-premature"), MOVING, 3)
def completed_before_it_was_in_sync(edit: Edit) -> None:
    """A reassignment is completed by a record in which a replica that it added is not in sync."""
    ends = [s for s in states(edit.original) if s.topic in own(edit.original) and _completes(s)]
    state = edit.chosen(ends)
    gone = _added(edit, state)
    change_record(edit, state.offset, lambda data: data.update(isr=[r for r in state.isr if r not in gone]))


@mutation("administration", invalid("reassignment-premature"), MOVING, 2)
def in_sync_as_it_was_added(edit: Edit) -> None:
    """The record that starts a reassignment completes it, with the added replicas in the ISR."""
    begins = [
        s for s in states(edit.original) if s.topic in own(edit.original) and s.data.get("addingReplicas")
    ]
    state = edit.chosen(begins)
    kept = [r for r in state.data["replicas"] if r not in (state.data.get("removingReplicas") or ())]
    end = {"replicas": kept, "isr": kept, "addingReplicas": [], "removingReplicas": []}
    change_record(edit, state.offset, lambda data: data.update(end))


def _completes(state: State) -> bool:
    return (
        state.data.get("addingReplicas") == []
        and "isr" in state.data
        and state.data.get("partitionEpoch") is None
    )


def _added(edit: Edit, state: State) -> set[int]:
    before = next(
        s
        for s in states(edit.original)
        if (s.topic, s.partition) == (state.topic, state.partition) and s.until == state.offset
    )
    return set(before.data.get("addingReplicas") or ()) or set(state.isr) - set(before.isr)


@mutation("administration", invalid("reassignment-lost", "metadata-ack-lost"), MOVING, 2)
def a_reassignment_came_to_nothing(edit: Edit) -> None:
    """An acknowledged reassignment is in no log: neither its start nor its end."""
    begins = [
        s for s in states(edit.original) if s.topic in own(edit.original) and s.data.get("addingReplicas")
    ]
    state = edit.chosen(begins[:2])
    same = [s for s in states(edit.original) if (s.topic, s.partition) == (state.topic, state.partition)]
    drop_records(edit, {s.offset for s in same if s.offset >= state.offset and "replicas" in s.data})


@mutation("administration", invalid("reassignment-without-end", "reassignment-lost"), MOVING, 1)
def a_reassignment_without_an_end(edit: Edit) -> None:
    """A reassignment whose replicas are all in sync is ongoing until the end of the run."""
    same = [s for s in states(edit.original) if (s.topic, s.partition) == ("log-0", 0)]
    last = same[-1]

    change_record(edit, last.offset, lambda data: [data.pop(name) for name in _ASSIGNMENT])


@mutation("administration", invalid("reassignment-held-up"), MOVING, 2)
def a_reassignment_that_was_held_up(edit: Edit) -> None:
    """The record with all added replicas in sync does not complete a reassignment; a later one does."""
    free = gaps(edit.original)
    ends = [s for s in states(edit.original) if s.topic in own(edit.original) and _completes(s)]
    later = ((s, next((gap for gap in free if s.offset < gap < s.until), None)) for s in ends)
    state, gap = edit.chosen([(state, gap) for state, gap in later if gap is not None])
    ending = {name: state.data[name] for name in _ASSIGNMENT if name in state.data}
    change_record(edit, state.offset, lambda data: [data.pop(name) for name in ending])
    _change(edit, state, gap, **ending)


def _elections(edit: Edit) -> list[Any]:
    return [o for o in edit.original.of("elect-leaders") if o.type is OK]


@mutation("administration", invalid("election-contradicts-state"), ("chaos", "format-1"), 1)
def a_preferred_leader_was_elected_again(edit: Edit) -> None:
    """A preferred election is answered with success, and no leader was elected."""
    answer = next(o for o in _elections(edit) if o.key == "preferred" and o.value["results"][0][2] == 84)

    def change(value: dict[str, Any]) -> None:
        value["results"][0][2:] = [0, None]

    edit.change(answer.index, change)


@mutation("administration", invalid("election-contradicts-state"), ("chaos", "format-1"), 1)
def a_partition_is_unknown(edit: Edit) -> None:
    """An election is refused because the partition is unknown, which the log has from the beginning."""
    answer = next(o for o in _elections(edit) if o.value["results"][0][2] == 84)

    def change(value: dict[str, Any]) -> None:
        value["results"][0][2:] = [3, "This server does not host this topic-partition."]

    edit.change(answer.index, change)


@mutation("administration", invalid("election-contradicts-state"), ("chaos", "format-1"), 1)
def nobody_was_eligible(edit: Edit) -> None:
    """An unclean election is refused because no replica is eligible, while all were available."""
    answer = next(o for o in _elections(edit) if o.key == "unclean")

    def change(value: dict[str, Any]) -> None:
        value["results"][0][2:] = [83, "Eligible topic partition leaders are not available."]

    edit.change(answer.index, change)


@mutation("administration", unknown("operations-seen"), ("chaos", "smoke", "txn"), 1)
def fewer_operations_than_were_meant(edit: Edit) -> None:
    """The scenario requires more answered reassignments than there were."""
    setup = next(iter(edit.original.of("setup")))
    edit.change(setup.index, lambda value: value.update(operations_min={"reassign": 7}))


@mutation("administration", unknown("script-played"), ("moves", "disks", "elections", "voters"), 1)
def a_move_did_not_come_about(edit: Edit) -> None:
    """A condition that a script waited for was not reached in time."""
    waited = [o for o in edit.original.of("await") if o.type is OK]
    edit.set(waited[-1].index, type=INFO, error="was not reached within 30 s")


@mutation("administration", unknown("script-played"), ("moves", "disks", "elections", "voters"), 1)
def the_script_never_ended(edit: Edit) -> None:
    """Nothing shows that a script ran to its end."""
    edit.drop(*[o.index for o in edit.original.of("moves") if o.type is OK])


def _asked(edit: Edit, f: str, key: Any, value: dict[str, Any], **ended: Any) -> None:
    """Let one admin operation more be asked for at the end of the load."""
    at_ns = phase_ns(edit.original, "heal") - SECOND_NS // 2
    answer = value | {"code": 0, "message": None, "took_ms": 1} | ended.pop("answer", {})
    edit.add_call("admin-9", f, key, (at_ns, at_ns + 1_000_000), (value, answer), **ended)


@mutation("administration", VALID, ASKED, 1)
def a_reassignment_of_unknown_fate(edit: Edit) -> None:
    """A reassignment is requested and not answered, and nothing else shows it."""
    targets = [[max(own(edit.original)), 0, [3, 1, 2]]]
    value = {"targets": targets, "throttle_bytes_per_s": None, "to": "n1"}
    _asked(
        edit,
        "alter-reassignments",
        None,
        value,
        answer={"code": -1, "results": []},
        ended=INFO,
        error="timeout",
    )


@mutation("administration", VALID, ASKED, 1)
def a_reassignment_of_nothing_is_refused(edit: Edit) -> None:
    """A reassignment of a partition that does not exist is refused."""
    value = {"targets": [["no-such-topic", 0, [1, 2]]], "throttle_bytes_per_s": None, "to": "n1"}
    answer = {"results": [["no-such-topic", 0, 3, "This server does not host this topic-partition."]]}
    _asked(edit, "alter-reassignments", None, value, answer=answer)


@mutation("administration", VALID, ASKED, 1)
def nothing_is_there_to_be_cancelled(edit: Edit) -> None:
    """A cancellation is refused because no reassignment is ongoing."""
    topic = max(own(edit.original))
    value = {"targets": [[topic, 0, None]], "throttle_bytes_per_s": None, "to": "n1"}
    answer = {"results": [[topic, 0, 85, "No partition reassignment is in progress."]]}
    _asked(edit, "alter-reassignments", None, value, answer=answer)


@mutation("administration", VALID, ASKED, 1)
def an_election_is_not_answered(edit: Edit) -> None:
    """A preferred election is requested, and not answered."""
    value = {"partitions": [[max(own(edit.original)), 0]], "to": "n1"}
    answer = {"code": -1, "results": []}
    _asked(edit, "elect-leaders", "preferred", value, answer=answer, ended=INFO, error="timeout")


@mutation("administration", VALID, ("elections", "voters"), 1)
def a_voter_that_is_one_is_not_added(edit: Edit) -> None:
    """The addition of a node that is a voter already is refused."""
    added = next(o for o in edit.original.of("add-voter") if o.type is OK)
    _asked(
        edit,
        "add-voter",
        added.key,
        added.value | {"to": "b1"},
        answer={"code": 126},
        ended=FAIL,
        error="126",
    )
