"""Acknowledgements of producers: of records that are elsewhere or nowhere, and against the ISR."""

from functools import partial
from itertools import pairwise
from typing import Any

from checkers.history.operations import History
from tests.mutations.edits import Edit
from tests.mutations.families.records import LOGS
from tests.mutations.looking import (
    FAIL,
    INFO,
    SECOND_NS,
    Acked,
    acked,
    by_partition,
    final_reads,
    pairs,
    phase_ns,
    replace_value,
    settled,
    settled_record,
)
from tests.mutations.partitions import (
    State,
    changes_of,
    drop_records,
    isr_is,
    spans,
    stretches,
    views_say,
)
from tests.mutations.suite import VALID, invalid, mutation

LISTED = tuple(name for name in LOGS if name != "bulk")


@mutation("acknowledgements", invalid("lost-write", "inconsistent-offsets", "duplicate"), LISTED, 3)
def beyond_the_end(edit: Edit) -> None:
    """A record is acknowledged at an offset that the partition never reached."""
    record = settled_record(edit)
    edit.change(record.index, lambda value: _offset_becomes(value, record, record.offset + 1_000_000))


@mutation("acknowledgements", invalid("inconsistent-offsets", "lost-write"), LISTED, 3)
def at_the_offset_of_another(edit: Edit) -> None:
    """A record is acknowledged at the offset of another acknowledged record."""
    record = settled_record(edit)
    other = next(
        r
        for r in settled(edit.original)
        if (r.topic, r.partition) == (record.topic, record.partition) and r.index != record.index
    )
    edit.change(record.index, lambda value: _offset_becomes(value, record, other.offset))


def _offset_becomes(value: list[Any], record: Acked, offset: int) -> None:
    for entry in value:
        if entry[1] == record.value:
            entry[2] = offset


@mutation("acknowledgements", invalid("lost-write"), LISTED, 3)
def of_a_record_that_is_nowhere(edit: Edit) -> None:
    """A record is acknowledged at an offset after all others, and no reader and no replica has it."""
    record = edit.chosen(settled(edit.original))
    ends = [read.value["end"] for read in final_reads(edit.original, record.topic, record.partition)]
    value, offset = 996_000_000_001, max(ends) + 5
    times_ns = (record.time_ns, record.time_ns + 1000)
    answer = [[record.partition, value, offset, "ok"]]
    edit.add_call(930_000, "send", record.topic, times_ns, ([[record.partition, value]], answer))


@mutation("acknowledgements", invalid("realtime-order", "inconsistent-offsets"), LISTED, 2)
def out_of_real_time(edit: Edit) -> None:
    """A record was acknowledged before another one was sent, and its offset is the higher one."""
    first, second = edit.chosen(_one_after_the_other(edit))
    for one, other in ((first, second), (second, first)):
        edit.change(one.index, partial(_offset_becomes, record=one, offset=other.offset))
    for o in edit.original.operations:
        if o.f in ("poll", "final-read") and o.key == first.topic and (o.value or {}).get("records"):
            held = {(n, at) for n, offsets, _ in o.value["records"] for at in offsets}
            if held & {(first.partition, first.offset), (first.partition, second.offset)}:
                edit.change(o.index, lambda value: _exchange(value, first, second))


def _one_after_the_other(edit: Edit) -> list[tuple[Acked, Acked]]:
    """Records of one partition and two processes: one acknowledged before the other's sending began."""
    began = {o.index: i for i, o in pairs(edit.original, "send")}
    last: dict[tuple[str, int], Acked] = {}
    found = []
    for record in settled(edit.original):
        before = last.get((record.topic, record.partition))
        if before is not None and record.offset == before.offset + 1:
            invoked = began[record.index]
            if invoked.time_ns > before.time_ns and invoked.process != began[before.index].process:
                found.append((before, record))
        last[record.topic, record.partition] = record
    return found


def _exchange(value: dict[str, Any], first: Acked, second: Acked) -> None:
    replace_value(value, first.partition, first.offset, second.value)
    replace_value(value, first.partition, second.offset, first.value)


@mutation(
    "acknowledgements",
    invalid("nonmonotonic-send", "int-nonmonotonic-send", "inconsistent-offsets"),
    LISTED,
    2,
)
def out_of_the_order_of_sending(edit: Edit) -> None:
    """For everyone who read them, two records of one send are in the log in the wrong order."""
    places = []
    for _, o in pairs(edit.original, "send"):
        if isinstance(o.value, list) and o.time_ns < phase_ns(edit.original, "heal"):
            mine = [r for r in o.value if len(r) == 4 and r[3] == "ok" and r[0] == o.value[0][0]]
            if len(mine) > 1:
                places.append((o, mine))
    o, mine = edit.chosen(places)
    first, second = (Acked(o.index, o.key, r[0], r[1], r[2], o.time_ns) for r in mine[:2])
    edit.change(o.index, lambda v: _offset_becomes(v, first, second.offset))
    edit.change(o.index, lambda v: _offset_becomes(v, second, first.offset))
    for reader in edit.original.operations:
        if reader.f in ("poll", "final-read") and reader.key == o.key and (reader.value or {}).get("records"):
            edit.change(reader.index, lambda value: _exchange(value, first, second))


@mutation("acknowledgements", VALID, LISTED, 2)
def fate_becomes_unknown(edit: Edit) -> None:
    """A send that was acknowledged timed out instead; its records are in the log nevertheless."""
    known = {r.index for r in settled(edit.original)}
    _, ok = edit.chosen((i, o) for i, o in pairs(edit.original, "send") if o.index in known)
    answer = [[entry[0], entry[1], None, "info"] for entry in ok.value]
    edit.set(ok.index, type=INFO, value=answer, error="KafkaTimeoutError")


@mutation("acknowledgements", VALID, LISTED, 2)
def refused_without_a_trace(edit: Edit) -> None:
    """A send that certainly failed is added; its record is nowhere."""
    record = edit.chosen(settled(edit.original))
    asked, answer = [[record.partition, 994_000_000_001]], [[record.partition, 994_000_000_001, None, "fail"]]
    times_ns = (record.time_ns, record.time_ns + 1000)
    edit.add_call(
        950_000, "send", record.topic, times_ns, (asked, answer), ended=FAIL, error="NotEnoughReplicasError"
    )


@mutation("acknowledgements", VALID, LISTED, 2)
def an_answer_comes_late(edit: Edit) -> None:
    """The answer to a send comes a little later, but before the next operation of its process."""
    found = list(pairs(edit.original, "send"))
    following: dict[Any, int] = {}
    places = []
    for invoked, ok in reversed(found):
        after = following.get(ok.process)
        if after is not None and after - ok.time_ns > 2000:
            places.append((ok, (after - ok.time_ns) // 2))
        following[ok.process] = invoked.time_ns
    ok, late_ns = edit.chosen(places)
    edit.set(ok.index, time_ns=ok.time_ns + late_ns)


BELOW_MIN_ISR = ("acked-below-min-isr",)
MEMBER_DOWN = ("acked-without-member",)


@mutation("acknowledgements", invalid(*BELOW_MIN_ISR), ("chaos", "smoke", "format-1"), 5)
def below_min_insync_replicas(edit: Edit) -> None:
    """For seconds only the leader is in the ISR (log and all views), and acks=all is acknowledged."""
    stretch = edit.chosen(s for s in stretches(edit.original) if len(s.state.isr) > 1)
    leader = stretch.state.leader
    isr_is(edit, stretch, [leader], [r for r in stretch.state.isr if r != leader][:1])


@mutation("acknowledgements", VALID, ("smoke", "format-1"), 3)
def at_min_insync_replicas(edit: Edit) -> None:
    """For seconds the ISR lacks one member (log and all views), but still has enough members."""
    stretch = edit.chosen(s for s in stretches(edit.original) if len(s.state.isr) > 2)
    gone = next(r for r in reversed(stretch.state.isr) if r != stretch.state.leader)
    isr_is(edit, stretch, [r for r in stretch.state.isr if r != gone], [])


@mutation("acknowledgements", invalid(*MEMBER_DOWN), ("smoke", "format-1", "disks"), 2)
def while_a_member_of_the_isr_is_down(edit: Edit) -> None:
    """A follower that is down stays in the ISR (log and all views), and acks=all is acknowledged."""
    shrunk = edit.chosen(_shrunk_by_faults(edit))
    drop_records(edit, {state.offset for state in shrunk})
    first = shrunk[0]
    whole = next(
        s for s in changes_of(edit.original, first.topic, first.partition) if s.until == first.offset
    )

    def shown(entry: list[Any]) -> None:
        entry[4] = list(whole.isr)
        if entry[5] is not None:
            entry[5] = list(whole.elr)

    span = spans(edit.original)
    from_ns, to_ns = span(first.offset)[0], span(shrunk[-1].offset)[1]
    views_say(edit, first.topic, first.partition, (from_ns, to_ns + SECOND_NS), shown)


def _shrunk_by_faults(edit: Edit) -> list[list[State]]:
    """Changes of nothing but an ISR that begin when a follower goes down and end when it is back."""
    history = edit.original
    nodes = {n["name"]: n["id"] for o in history.of("setup") for n in o.value["nodes"]}
    found = []
    for topic, partition in by_partition(list(acked(history))):
        some = changes_of(history, topic, partition)
        for at, (before, after) in enumerate(pairwise(some)):
            gone = set(before.isr) - set(after.isr)
            if len(gone) != 1 or "leader" in after.data or "replicas" in after.data:
                continue
            (node,) = gone
            later = next((n for n, s in enumerate(some) if n > at + 1 and node in s.isr), None)
            if (
                later is None
                or any(
                    {"leader", "replicas"} & s.data.keys() or s.isr != some[at + 1].isr
                    for s in some[at + 1 : later]
                )
                or {"leader", "replicas"} & some[later].data.keys()
                or set(some[later].isr) != set(before.isr)
            ):
                continue
            if _acked_meanwhile(history, nodes, node, topic, partition):
                found.append(some[at + 1 : later + 1])
    return found


def _acked_meanwhile(history: History, nodes: dict[str, int], node: int, topic: str, partition: int) -> bool:
    """Whether records were sent and acknowledged while a node was certainly down."""
    began = {o.index: i.time_ns for i, o in pairs(history, "send")}
    name = next(n for n, i in nodes.items() if i == node)
    for _, injected in pairs(history, "inject"):
        if name not in injected.value.get("targets", ()) or injected.value["kind"] == "partition":
            continue
        heal = next((i for i, _ in pairs(history, "heal") if i.key == injected.key), None)
        until_ns = heal.time_ns if heal else 0
        mine = [
            r
            for r in acked(history)
            if (r.topic, r.partition) == (topic, partition)
            and began[r.index] > injected.time_ns + SECOND_NS // 2
            and r.time_ns < until_ns - SECOND_NS // 2
        ]
        if len(mine) > 4:
            return True
    return False
