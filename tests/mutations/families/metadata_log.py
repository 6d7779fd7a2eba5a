"""Records of the metadata log: states that nobody makes, logs that differ, acknowledged changes lost."""

from collections.abc import Callable
from typing import Any

from checkers.history.operations import Operation
from tests.mutations.batches import columns_kept_but, kept, rewritten
from tests.mutations.edits import Edit
from tests.mutations.looking import OK, SECOND_NS, metadata_logs, pairs, phase_ns
from tests.mutations.partitions import (
    CHANGE,
    State,
    change_record,
    changes_of,
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

RUNS = ("chaos", "smoke", "moves", "disks", "txn", "groups")
REGISTERED, REGISTRATION = "REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD"
VOTED = tuple(name for name in RUNS if name not in {"moves", "disks"})
_UNDECODED: dict[str, Any] = {
    "records": [],
    "checkpoint": None,
    "decoder_error": "java.lang.IllegalStateException",
}
KILLED = ("smoke", "commits", "deletions", "listed-txn")
INTERNAL = ("chaos", "txn", "groups", "offsets")


def _named(state: State, **data: Any) -> dict[str, Any]:
    return {"partitionId": state.partition, "topicId": state.topic_id, **data}


def _calm(edit: Edit, wanted: Callable[[State], bool]) -> tuple[State, int]:
    """A state of a partition of the run's own while load goes on, and a gap of the log in the midst of it."""
    history = edit.original
    span, last_ns = spans(history), phase_ns(history, "heal")
    places = []
    for state in states(history):
        inside = [g for g in gaps(history) if state.offset < g < state.until and span(g)[1] < last_ns]
        if state.topic in own(history) and wanted(state) and len(inside) > 3:
            places.append((state, inside[len(inside) // 2]))
    chosen: tuple[State, int] = edit.chosen(places)
    return chosen


@mutation("metadata-log", invalid("leader-outside-isr"), RUNS, 2)
def leader_outside_the_isr(edit: Edit) -> None:
    """A record removes the leader from the ISR, and it remains the leader."""
    state, offset = _calm(edit, lambda s: len(s.isr) > 2)
    insert_record(edit, offset, CHANGE, _named(state, isr=[r for r in state.isr if r != state.leader]))


@mutation("metadata-log", invalid("isr-outside-replicas"), RUNS, 2)
def isr_outside_the_replicas(edit: Edit) -> None:
    """A record adds a broker that is not a replica of the partition to its ISR."""
    state, offset = _calm(edit, lambda s: len(s.isr) > 1)
    insert_record(edit, offset, CHANGE, _named(state, isr=[*state.isr, 77]))


@mutation("metadata-log", invalid("isr-and-elr", "elr-beside-isr"), RUNS, 2)
def in_the_isr_and_in_the_elr(edit: Edit) -> None:
    """A record has a member of the ISR among the eligible leader replicas."""
    state, offset = _calm(edit, lambda s: len(s.isr) > 2 and not s.elr)
    isr = [state.leader]
    insert_record(edit, offset, CHANGE, _named(state, isr=isr, eligibleLeaderReplicas=isr))


@mutation("metadata-log", invalid("elr-beside-isr"), RUNS, 2)
def an_elr_beside_a_full_isr(edit: Edit) -> None:
    """A record has eligible leader replicas although the ISR has min.insync.replicas members."""
    state, offset = _calm(edit, lambda s: len(s.isr) > 2 and not s.elr)
    isr = [r for r in state.isr if r != _follower(state)]
    data = _named(state, isr=isr, eligibleLeaderReplicas=[_follower(state)])
    insert_record(edit, offset, CHANGE, data)


def _follower(state: State) -> int:
    return next(r for r in reversed(state.isr) if r != state.leader)


@mutation("metadata-log", invalid("restated-change"), RUNS, 2)
def a_change_of_what_is_so_already(edit: Edit) -> None:
    """A record sets the ISR of a partition to its present value."""
    state, offset = _calm(edit, lambda s: len(s.isr) > 1)
    insert_record(edit, offset, CHANGE, _named(state, isr=state.isr))


@mutation("metadata-log", invalid("change-of-nothing"), RUNS, 1)
def a_change_of_a_topic_that_is_not_there(edit: Edit) -> None:
    """A record changes a partition of a topic that was never created."""
    state, offset = _calm(edit, lambda s: len(s.isr) > 1)
    data = _named(state, isr=[state.leader]) | {"topicId": "AbCdEfGhIjKlMnOpQrStUw"}
    insert_record(edit, offset, CHANGE, data)


@mutation("metadata-log", invalid("inactive-broker-chosen"), ("chaos", "smoke", "moves", "disks"), 1)
def a_fenced_broker_joins_an_isr(edit: Edit) -> None:
    """A broker is fenced shortly before it joins an ISR, and unfenced after that."""
    history = edit.original
    registered: dict[int, tuple[int, int]] = {}
    isrs: dict[tuple[str, int], list[int]] = {}
    joins = {state.offset: state for state in states(history)}
    places = []
    for offset, _, kind, data in longest(history).value["records"]:
        if kind in {REGISTERED, REGISTRATION}:
            registered[data["brokerId"]] = offset, data["brokerEpoch"]
        if offset in joins:
            state = joins[offset]
            joined = set(state.isr) - set(isrs.get((state.topic, state.partition), state.isr))
            isrs[state.topic, state.partition] = state.isr
            for broker in joined & {*registered}:
                since, epoch = registered[broker]
                before = [g for g in gaps(history) if since < g < offset][-1:]
                after = [g for g in gaps(history) if g > offset][:1]
                places += [(gap, back, broker, epoch) for gap in before for back in after]
    gap, back, broker, epoch = edit.chosen(places)
    for at, fenced in ((gap, 1), (back, -1)):
        insert_record(edit, at, REGISTRATION, {"brokerId": broker, "brokerEpoch": epoch, "fenced": fenced})


@mutation("metadata-log", invalid("unclean-broker-kept"), KILLED, 1)
def a_killed_broker_stays_eligible(edit: Edit) -> None:
    """A broker was killed, and before it returns a record has it among the eligible leader replicas."""
    history, span = edit.original, spans(edit.original)
    ids = {n["name"]: n["id"] for o in history.of("setup") for n in o.value["nodes"]}
    kills = [o for o in history.of("inject") if o.type == OK and o.value["kind"] == "kill"]
    killed = {ids[node]: kill.time_ns for kill in kills for node in kill.value["targets"]}
    places = []
    for offset, _, kind, data in longest(history).value["records"]:
        since_ns = killed.get(data["brokerId"]) if kind == REGISTERED else None
        inside = [g for g in gaps(history) if g < offset and since_ns and span(g)[0] > since_ns]
        places += [
            (inside[-1], state, data["brokerId"])
            for state in states(history)
            if inside and state.offset < inside[-1] and state.until > offset
        ]
    gap, state, broker = edit.chosen(places)
    insert_record(edit, gap, CHANGE, _named(state, eligibleLeaderReplicas=[broker]))


_UNCLEAN = ("unclean-election-unlicensed", "unflagged-election")


@mutation("metadata-log", invalid(*_UNCLEAN), RUNS, 2)
def an_unclean_election_that_nobody_permitted(edit: Edit) -> None:
    """A replica outside the ISR is elected uncleanly, and no config and no request allows it."""
    state, offset = _shrunk(edit)
    data = _named(state, isr=[_outsider(state)], leader=_outsider(state), leaderRecoveryState=1)
    insert_record(edit, offset, CHANGE, data)


@mutation("metadata-log", invalid("unflagged-election"), RUNS, 2)
def an_unclean_election_without_its_flag(edit: Edit) -> None:
    """A replica outside the ISR and the ELR is elected as if the election were clean."""
    state, offset = _shrunk(edit)
    data = _named(state, isr=[_outsider(state)], leader=_outsider(state))
    insert_record(edit, offset, CHANGE, data)


def _outsider(state: State) -> int:
    return next(r for r in state.replicas if r not in state.isr and r not in state.elr)


def _shrunk(edit: Edit) -> tuple[State, int]:
    """A state with a replica that is neither in the ISR nor in the ELR, and a gap within it."""
    history = edit.original
    places = []
    for state in states(history):
        inside = [g for g in gaps(history) if state.offset < g < state.until]
        outside = set(state.replicas) - set(state.isr) - set(state.elr)
        if state.topic in own(history) and outside and inside:
            places.append((state, inside[len(inside) // 2]))
    chosen: tuple[State, int] = edit.chosen(places)
    return chosen


@mutation("metadata-log", invalid(*_UNCLEAN), INTERNAL, 2)
def an_unclean_election_of_an_internal_topic(edit: Edit) -> None:
    """A replica of an internal topic that is not in the ISR is elected, which nothing permits."""
    history = edit.original
    places = []
    for state in states(history):
        inside = [g for g in gaps(history) if state.offset < g < state.until]
        outside = set(state.replicas) - set(state.isr) - set(state.elr)
        if state.topic.startswith("__") and outside and inside:
            places.append((state, inside[len(inside) // 2]))
    state, offset = edit.chosen(places)
    data = _named(state, isr=[_outsider(state)], leader=_outsider(state), leaderRecoveryState=1)
    insert_record(edit, offset, CHANGE, data)


@mutation("metadata-log", invalid("metadata-divergence"), (*RUNS, "metadata", "voters"), 2)
def another_batch_on_one_node(edit: Edit) -> None:
    """One node's metadata log has another batch below the high watermark than the other logs."""
    log = edit.chosen(o for o in metadata_logs(edit.original) if o.value["count"] > 20)
    edit.change(log.index, rewritten(_other_crc))


def _other_crc(columns: Any) -> None:
    columns["crc"][len(columns["crc"]) // 2] ^= 0x5A5A5A5A


@mutation("metadata-log", invalid("metadata-divergence", "offset-gap"), (*RUNS, "metadata", "voters"), 1)
def a_batch_is_missing_on_one_node(edit: Edit) -> None:
    """One node's metadata log lacks a batch below the high watermark, and has those before and after."""
    log = edit.chosen(o for o in metadata_logs(edit.original) if o.value["count"] > 20)
    edit.change(log.index, rewritten(lambda c: columns_kept_but(c, len(c["crc"]) // 2)))


@mutation("metadata-log", invalid("leader-epoch-regression"), RUNS, 1)
def epoch_of_the_quorum_goes_back(edit: Edit) -> None:
    """Along one node's metadata log the epochs increase and then decrease."""
    log = edit.chosen(metadata_logs(edit.original))
    edit.change(log.index, rewritten(_risen))


def _risen(columns: Any) -> None:
    columns["leader_epoch"][len(columns["crc"]) // 2] += 4


@mutation("metadata-log", invalid("two-leaders"), VOTED, 1)
def two_leaders_of_one_epoch(edit: Edit) -> None:
    """The metadata log has a second record of a new leader in one epoch, with another leader."""
    changes = [r for r in longest(edit.original).value["records"] if r[2] == "LEADER_CHANGE"]
    offset, epoch, _, data = changes[-1]
    at = next(g for g in gaps(edit.original) if g > offset and epoch_at(edit.original, g) == epoch)
    voters = [v["voterId"] for v in data["voters"]]
    other = next(v for v in voters if v != data["leaderId"])
    insert_record(edit, at, "LEADER_CHANGE", data | {"leaderId": other})


@mutation("metadata-log", invalid("metadata-committed-lost"), VOTED, 1)
def all_nodes_lose_the_end(edit: Edit) -> None:
    """All metadata logs end far below the high watermark that leaders reported; no disk was damaged."""
    marks = [
        o.value["high_watermark"] for o in edit.original.observed("quorum") if "high_watermark" in o.value
    ]
    cut = max(marks) * 2 // 3
    for log in metadata_logs(edit.original):
        edit.change(log.index, rewritten(lambda c: kept(c, c["last_offset"] < cut)))
        edit.change(log.index, lambda v: v.update(records=[r for r in v["records"] if r[0] < v["end"]]))


@mutation("metadata-log", VALID, RUNS, 1)
def one_node_lags(edit: Edit) -> None:
    """One node, without which there is a majority, has not fetched the last records yet."""
    history = edit.original
    log = edit.chosen(metadata_logs(history))
    edit.change(log.index, rewritten(lambda c: kept(c, slice(0, len(c["crc"]) - 2))))
    edit.change(log.index, lambda v: v.update(records=[r for r in v["records"] if r[0] < v["end"]]))


@mutation("metadata-log", unknown("metadata"), RUNS, 1)
def records_of_the_second_half_are_missing(edit: Edit) -> None:
    """The decoded records of all nodes end in the middle of their logs, but the batches do not."""
    for log in metadata_logs(edit.original):
        edit.change(log.index, lambda v: v.update(records=[r for r in v["records"] if r[0] < v["end"] // 2]))


@mutation("metadata-log", unknown("metadata"), RUNS, 1)
def records_of_the_first_half_are_missing(edit: Edit) -> None:
    """The decoded records of all nodes begin in the middle of their logs, without a snapshot."""
    for log in metadata_logs(edit.original):
        edit.change(log.index, lambda v: v.update(records=[r for r in v["records"] if r[0] >= v["end"] // 2]))


@mutation("metadata-log", unknown("metadata"), (*RUNS, "metadata", "voters"), 1)
def no_node_could_decode_its_log(edit: Edit) -> None:
    """No node's metadata log could be decoded."""
    for log in metadata_logs(edit.original):
        edit.change(log.index, lambda value: value.update(_UNDECODED))


@mutation("metadata-log", unknown("was not decoded"), RUNS, 1)
def one_node_could_not_decode_its_log(edit: Edit) -> None:
    """One node's metadata log could not be decoded; the others have the same records."""
    log = edit.chosen(o for o in metadata_logs(edit.original) if o.index != longest(edit.original).index)
    edit.change(log.index, lambda value: value.update(_UNDECODED))


def acknowledged(edit: Edit, f: str) -> list[tuple[Operation, Operation]]:
    """Calls of one kind that were answered with success."""
    return [(i, o) for i, o in pairs(edit.original, f) if o.type is OK]


def _offsets(edit: Edit, wanted: Callable[[str, dict[str, Any]], bool]) -> set[int]:
    records = longest(edit.original).value["records"]
    return {r[0] for r in records if r[3] is not None and wanted(r[2], r[3])}


_METADATA_LOST = ("metadata-ack-lost", "lost-topic")


@mutation("metadata-log", invalid(*_METADATA_LOST), ("metadata",), 4)
def an_acknowledged_topic_is_in_no_log(edit: Edit) -> None:
    """No log of any node has the creation of a topic that was acknowledged."""
    _, created = edit.chosen(acknowledged(edit, "create-topic"))
    ids = {
        r[3]["topicId"]
        for r in longest(edit.original).value["records"]
        if r[2] == "TOPIC_RECORD" and r[3]["name"] == created.key
    }
    name = created.key
    drop_records(
        edit,
        _offsets(
            edit, lambda _, d: d.get("topicId") in ids or name in {d.get("resourceName"), d.get("topicName")}
        ),
    )


@mutation("metadata-log", invalid("metadata-ack-lost", "resurrected-topic"), ("metadata",), 3)
def an_acknowledged_deletion_is_in_no_log(edit: Edit) -> None:
    """No log of any node has the deletion of a topic that was acknowledged."""
    _, deleted = edit.chosen(acknowledged(edit, "delete-topic"))
    records = longest(edit.original).value["records"]
    ids = {r[3]["topicId"] for r in records if r[2] == "TOPIC_RECORD" and r[3]["name"] == deleted.key}
    drop_records(edit, _offsets(edit, lambda kind, d: kind == "REMOVE_TOPIC_RECORD" and d["topicId"] in ids))


@mutation("metadata-log", invalid("metadata-ack-lost", "lost-value"), ("metadata",), 4)
def an_acknowledged_config_is_in_no_log(edit: Edit) -> None:
    """No log of any node has a value of a config whose change was acknowledged."""
    _, written = edit.chosen(acknowledged(edit, "write"))
    _, topic, config = written.key.split("/")
    value = str(written.value)

    def is_it(kind: str, data: dict[str, Any]) -> bool:
        return (
            kind == "CONFIG_RECORD"
            and (data["resourceName"], data["name"]) == (topic, config)
            and (data["value"] == value)
        )

    offsets = _offsets(edit, is_it)
    if not offsets:
        edit.give_up(f"no record of {written.key} = {value}")
    drop_records(edit, offsets)


@mutation("metadata-log", invalid("metadata-ack-early", "metadata-ack-lost"), ("metadata",), 1)
def acknowledged_before_it_was_appended(edit: Edit) -> None:
    """The creation of a topic was acknowledged seconds before its records can have been appended."""
    history = edit.original
    last_ns = phase_ns(history, "heal")
    span = spans(history)
    _, created = edit.chosen(
        (i, o) for i, o in acknowledged(edit, "create-topic") if o.time_ns < last_ns - 8 * SECOND_NS
    )
    records = longest(history).value["records"]
    topic = next(r for r in records if r[2] == "TOPIC_RECORD" and r[3]["name"] == created.key)
    mine = [r for r in records if r[3] and r[3].get("topicId") == topic[3]["topicId"]]
    later = [g for g in gaps(history) if span(g)[0] > created.time_ns + 3 * SECOND_NS]
    if len(later) < len(mine):
        edit.give_up("no gaps behind the acknowledgement")
    drop_records(edit, {r[0] for r in mine})
    for record, offset in zip(mine, later, strict=False):
        insert_record(edit, offset, record[2], record[3])


@mutation("metadata-log", invalid("metadata-ack-lost", "reassignment-lost"), ("moves",), 3)
def an_acknowledged_reassignment_is_in_no_log(edit: Edit) -> None:
    """No node's log has an acknowledged reassignment of a partition, nor its result."""
    moves = [
        (o, target)
        for _, o in acknowledged(edit, "alter-reassignments")
        for target, result in zip(o.value["targets"], o.value["results"], strict=False)
        if target[2] and result[2] == 0 and changes_of(edit.original, target[0], target[1])
    ]
    _, (topic, partition, _) = edit.chosen(moves)
    topic_id = changes_of(edit.original, topic, partition)[0].topic_id
    drop_records(
        edit,
        _offsets(
            edit,
            lambda kind, d: (
                kind == CHANGE
                and (d["topicId"], d["partitionId"]) == (topic_id, partition)
                and ("replicas" in d or "addingReplicas" in d or "removingReplicas" in d)
            ),
        ),
    )


@mutation(
    "metadata-log",
    invalid("metadata-ack-lost", "voter-unexplained", "voter-change-not-single"),
    ("voters",),
    2,
)
def an_acknowledged_voter_is_in_no_log(edit: Edit) -> None:
    """No node's log has the set of voters after an acknowledged addition."""
    sets = [r[0] for r in longest(edit.original).value["records"] if r[2] == "KRAFT_VOTERS"]
    drop_records(edit, {edit.chosen(sets[1:-1])})


@mutation("metadata-log", invalid("voter-change-not-single", "voter-unexplained"), ("voters",), 2)
def two_voters_change_at_once(edit: Edit) -> None:
    """Two sets of voters that follow each other in the log differ by two voters."""
    sets = [r[0] for r in longest(edit.original).value["records"] if r[2] == "KRAFT_VOTERS"]
    change_record(edit, edit.chosen(sets[1:]), _one_voter_becomes_another)


def _one_voter_becomes_another(data: dict[str, Any]) -> None:
    data["voters"][0] = data["voters"][0] | {"voterId": 909, "voterDirectoryId": "AbCdEfGhIjKlMnOpQrStUw"}
