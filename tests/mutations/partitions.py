"""States of partitions as the metadata log has them, and changes of that log and of brokers' views."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from checkers.history.operations import History, Operation, once
from tests.mutations.batches import unpacked
from tests.mutations.edits import Edit
from tests.mutations.looking import SECOND_NS, acked, metadata_logs, pairs, phase_ns

CHANGE = "PARTITION_CHANGE_RECORD"
_FIELDS = ("leader", "isr", "replicas", "eligibleLeaderReplicas", "addingReplicas", "removingReplicas")


class State(NamedTuple):
    """The state of a partition in the log from a record on.

    Attributes:
        topic: its name.
        partition: its number.
        offset: of the record in the metadata log.
        until: offset of the next record about it; the end of the log where there is none.
        leader: id of the leader.
        leader_epoch: its epoch.
        isr: ids of the replicas in sync.
        replicas: ids of all replicas.
        elr: ids of the eligible leader replicas.
        topic_id: of the topic.
        data: content of the record.
    """

    topic: str
    partition: int
    offset: int
    until: int
    leader: int
    leader_epoch: int
    isr: list[int]
    replicas: list[int]
    elr: list[int]
    topic_id: str
    data: dict[str, Any]


@once
def longest(history: History) -> Operation:
    """The metadata log that reaches farthest."""
    return max(metadata_logs(history), key=lambda o: (o.value["end"], len(o.value["records"])))


@once
def states(history: History) -> tuple[State, ...]:
    """All states of all partitions, in the order of the log."""
    names: dict[str, str] = {}
    now: dict[tuple[str, int], State] = {}
    found: list[State] = []
    for offset, _, kind, data in longest(history).value["records"]:
        if kind == "TOPIC_RECORD":
            names[data["topicId"]] = data["name"]
        if kind not in ("PARTITION_RECORD", CHANGE) or data["topicId"] not in names:
            continue
        key = (data["topicId"], data["partitionId"])
        before = now.get(key)
        if before is not None:
            found.append(before._replace(until=offset))
        now[key] = _next(before, offset, names[data["topicId"]], data)
    end = longest(history).value["end"]
    found += [state._replace(until=end) for state in now.values()]
    return tuple(sorted(found, key=lambda s: s.offset))


def _next(before: State | None, offset: int, topic: str, data: dict[str, Any]) -> State:
    if before is None:
        return State(
            topic,
            data["partitionId"],
            offset,
            0,
            data["leader"],
            data["leaderEpoch"],
            data["isr"],
            data["replicas"],
            data.get("eligibleLeaderReplicas") or [],
            data["topicId"],
            data,
        )
    moved = "leader" in data and data["leader"] != -2
    return before._replace(
        offset=offset,
        leader=data["leader"] if moved else before.leader,
        leader_epoch=before.leader_epoch + moved,
        isr=data.get("isr") or before.isr,
        replicas=data.get("replicas") or before.replicas,
        elr=data["eligibleLeaderReplicas"] or [] if "eligibleLeaderReplicas" in data else before.elr,
        data=data,
    )


def own(history: History) -> set[str]:
    """Names of the run's own topics."""
    return {topic["name"] for o in history.of("setup") for topic in o.value["topics"]}


def changes_of(history: History, topic: str, partition: int) -> list[State]:
    """States of one partition."""
    return [s for s in states(history) if (s.topic, s.partition) == (topic, partition)]


@once
def gaps(history: History) -> tuple[int, ...]:
    """Offsets of records that say nothing (NO_OP_RECORD), each a batch of its own."""
    log = longest(history).value
    columns = unpacked(log)
    decoded = {record[0] for record in log["records"]}
    alone = (columns["count"] == 1) & (columns["control"] == -1)
    return tuple(offset for offset in columns["base_offset"][alone].tolist() if offset not in decoded)


@once
def spans(history: History) -> Callable[[int], tuple[int, int]]:
    """A function that bounds when the record at an offset was appended, by what quorum leaders answered."""
    log = longest(history).value
    columns = unpacked(log)
    bases, epochs = columns["base_offset"].tolist(), columns["leader_epoch"].tolist()
    ends: dict[int, list[tuple[int, int]]] = defaultdict(list)
    marks: list[tuple[int, int]] = []
    for o in history.observed("quorum"):
        if o.value["answer"] == "leader":
            leader, voters = o.value["leader_id"], o.value["voters"]
            least = min((v[2] for v in voters if v[0] == leader and v[2] >= 0), default=None)
            if least is not None:
                ends[o.value["leader_epoch"]].append((least, o.value["began_ns"]))
            marks.append((o.value["high_watermark"], o.time_ns))

    @cache
    def span(offset: int) -> tuple[int, int]:
        epoch = epochs[bisect_right(bases, offset) - 1]
        before = [began_ns for end, began_ns in ends[epoch] if end <= offset]
        after = [time_ns for high_watermark, time_ns in marks if high_watermark > offset]
        return max(before, default=0), min(after, default=2**62)

    return span


def epoch_at(history: History, offset: int) -> int:
    """Epoch of the quorum in which the record at an offset was appended."""
    columns = unpacked(longest(history).value)
    return int(columns["leader_epoch"][int((columns["base_offset"] <= offset).sum()) - 1])


def insert_record(
    edit: Edit, offset: int, kind: str, data: dict[str, Any] | None, epoch: int | None = None
) -> None:
    """Let every node's metadata log have a record at an offset where it has none with any content."""
    at = epoch_at(edit.original, offset) if epoch is None else epoch
    for log in metadata_logs(edit.original):
        if log.value["end"] > offset >= log.value["log_start"]:
            edit.change(
                log.index,
                lambda value: insort(
                    value["records"], [offset, at, kind, data], key=lambda record: record[0]
                ),
            )


def change_record(edit: Edit, offset: int, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the content of a record in every node's metadata log."""
    for log in metadata_logs(edit.original):
        edit.change(
            log.index, lambda value: [change(r[3]) for r in value["records"] if r[0] == offset] and None
        )


def drop_records(edit: Edit, offsets: set[int]) -> None:
    """Let records of the metadata log say nothing, on all nodes."""
    for log in metadata_logs(edit.original):
        edit.change(
            log.index,
            lambda value: value.update(records=[r for r in value["records"] if r[0] not in offsets]),
        )


def views_say(
    edit: Edit, topic: str, partition: int, times_ns: tuple[int, int], change: Callable[[list[Any]], Any]
) -> int:
    """Change what brokers' views tell of a partition within a time; returns how many were changed."""
    seen = 0
    for view in edit.original.observed("partitions"):
        entries = view.value.get("topics", {}).get(topic, ())
        if times_ns[0] <= view.time_ns <= times_ns[1] and any(entry[0] == partition for entry in entries):
            seen += 1
            edit.change(
                view.index,
                lambda value: [change(e) for e in value["topics"][topic] if e[0] == partition] and None,
            )
    return seen


class Stretch(NamedTuple):
    """A state that lasts while records are acknowledged, and two gaps of the log in it."""

    state: State
    first: int
    last: int
    from_ns: int
    to_ns: int


def stretches(history: History, least_s: float = 6, least_acked: int = 6) -> Iterator[Stretch]:
    """Stretches in which a state of a loaded partition could have been another one meanwhile, for certain."""
    began = {o.index: i.time_ns for i, o in pairs(history, "send")}
    span = spans(history)
    first_ns, last_ns = phase_ns(history, "load"), phase_ns(history, "heal")
    for state in states(history):
        if state.topic not in own(history) or state.leader < 0:
            continue
        inside = [g for g in gaps(history) if state.offset < g < state.until]
        inside = [g for g in inside if span(g)[1] > first_ns and span(g)[0] < last_ns]
        if len(inside) < 4:
            continue
        first, last = inside[1], inside[-2]
        from_ns, to_ns = span(first)[1], span(last)[0]
        within = [
            r
            for r in acked(history)
            if (r.topic, r.partition) == (state.topic, state.partition)
            and began[r.index] > from_ns + SECOND_NS * 5 // 2
            and r.time_ns < to_ns - SECOND_NS // 2
        ]
        if to_ns - from_ns > least_s * SECOND_NS and len(within) >= least_acked:
            yield Stretch(state, first, last, from_ns, to_ns)


def isr_is(edit: Edit, stretch: Stretch, isr: list[int], elr: list[int]) -> None:
    """Let the ISR be another one for a stretch, in the metadata log and in all views."""
    state = stretch.state
    names = {"partitionId": state.partition, "topicId": state.topic_id}
    eligible = {"eligibleLeaderReplicas": elr} if elr != state.elr else {}
    insert_record(edit, stretch.first, CHANGE, names | {"isr": isr} | eligible)
    back = {"eligibleLeaderReplicas": state.elr} if eligible else {}
    insert_record(edit, stretch.last, CHANGE, names | {"isr": state.isr} | back)

    def shown(entry: list[Any]) -> None:
        entry[4] = list(isr)
        if entry[5] is not None:
            entry[5] = list(elr)

    views_say(edit, state.topic, state.partition, (stretch.from_ns, stretch.to_ns), shown)
