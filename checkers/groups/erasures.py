"""The erasures checker: a deleted offset stays deleted, and no other offset is lost.

It judges *commit-offset*, *delete-offsets* and *fetch-offsets* of docs/histories.md.  For each group they
come from one process at a time, so the requests before an answer determine what it may return: the result of
the last acknowledged change, or of any change whose outcome is unknown, which may take effect late.

A deposed coordinator that does not know of its successor yet answers with an old state, and a new one may not
know yet which commits are committed in its log (KAFKA-14499).  So an answer counts only if it comes from the
broker that acknowledged the last change, or from the phase final-read, when the cluster has recovered.
Before 4.0 a coordinator did not wait until a deletion was replicated (`GroupMetadataManager`, acks 0), so a
deleted offset may return if its coordinator had such a version then, even if the broker is upgraded later.

If a broker refuses a deletion because the group does not exist, this also means that the group has no offset.

A legal loss of records of the offsets topic, in the group's partition and between the change and the answer,
excuses a finding (`checkers.licences.internal`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.kafka_versions import kafka_versions
from checkers.history.error_codes import ErrorCode
from checkers.history.group_offsets import OffsetCommitted, OffsetsDeleted, OffsetsFetched
from checkers.history.operations import FAIL, INVOKE, OK, History, Operation
from checkers.history.phases import PHASE, Phase
from checkers.history.setup import recorded_setup
from checkers.history.sources import Source
from checkers.licences.internal import may_have_lost
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

CHECKER = "erasures"
COMMIT, DELETE, FETCH = "commit-offset", "delete-offsets", "fetch-offsets"
DURABLE_SINCE = (4, 0)
"""First version whose coordinators acknowledge a deletion after its replication."""

RETURNED = AnomalyKind(
    id="deleted-offset-returned",
    meaning="An offset of a group was returned although the deletion of the offset, or of the "
    "group, had been acknowledged.",
    guarantee="A deleted offset of a group stays deleted until it is committed again.",
    source="KIP-229, DeleteGroups; KIP-496, OffsetDelete",
)
LOST = AnomalyKind(
    id="kept-offset-lost",
    meaning="A group's offset was returned that differs from the committed one, or none was "
    "returned, although it was not deleted.",
    guarantee="A committed offset is kept until another one is committed, or until it is deleted or expires.",
    source="Kafka documentation, Distribution, Consumer Offset Tracking; KIP-211",
)
ANOMALIES = by_id(RETURNED, LOST)
NEEDS = Needs((Source.CLIENTS,), all_rest_on=(Source.CLIENTS, *PERMITTED), workloads=frozenset({"offsets"}))
"""The journals that the checker's rules need."""


class _Call(NamedTuple):
    asked: Operation
    answered: Operation | None


@dataclass(slots=True)
class _Place:
    """Possible values of a group's offset in one partition.

    Attributes:
        value: the value after the last acknowledged change.
        late: values that changes with an unknown outcome may set.
        by: id of the broker that acknowledged the last change; None if no change was acknowledged.
        since_ns: when that change was requested.
        operations: operations of that change.
    """

    value: int | None = None
    late: set[int | None] = field(default_factory=set)
    by: int | None = None
    since_ns: int = 0
    operations: tuple[int, ...] = ()


_Places = dict[tuple[str, int], _Place]
"""Offsets of a group, by topic and partition, for the partitions that any operation contains."""


class _Comparison(NamedTuple):
    """A place whose value an answer must report, and the offset that it reports."""

    place: tuple[str, int]
    known: _Place
    offset: int | None

    def fits(self) -> bool:
        """Whether the place may have this offset."""
        return self.offset == self.known.value or self.offset in self.known.late


def check_erasures(history: History) -> CheckerResult:
    """Judge all fetches of groups whose offsets are deleted.

    The result is not exercised if there are none.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    final = next((o.index for o in history.of(PHASE) if o.key == Phase.FINAL_READ), len(history.operations))
    groups: dict[str, _Places] = {}
    found: list[Anomaly] = []
    figures = {"changes": 0, "fetches": 0, "offsets_compared": 0}
    for call in _calls(history):
        places = groups.setdefault(str(call.asked.key), {})
        if call.asked.f != FETCH:
            figures["changes"] += 1
        elif call.answered is not None and call.answered.type is OK:
            figures["fetches"] += 1
        answer = _offsets_in(places, call)
        if answer is not None and call.answered is not None:
            compared = list(_compared(places, answer, final=call.asked.index > final))
            figures["offsets_compared"] += len(compared)
            found += (
                _against(history, call.asked, call.answered, each) for each in compared if not each.fits()
            )
        if call.asked.f != FETCH:
            _change(places, call, durable=_durable(history, call))
    return result_of(CHECKER, found, figures=figures, exercised=bool(figures["fetches"]))


def _calls(history: History) -> Iterator[_Call]:
    """Calls in the order of their invocations; the calls of one group do not overlap."""
    operations = sorted((o for f in (COMMIT, DELETE, FETCH) for o in history.of(f)), key=lambda o: o.index)
    ends: dict[int, Operation] = {}
    begun: dict[int | str, int] = {}
    for operation in operations:
        if operation.type is INVOKE:
            begun[operation.process] = operation.index
        elif operation.process in begun:
            ends[begun.pop(operation.process)] = operation
    return (_Call(each, ends.get(each.index)) for each in operations if each.type is INVOKE)


def _durable(history: History, call: _Call) -> bool:
    """Whether the broker that acknowledged a deletion had waited until it was replicated."""
    name = recorded_setup(history).names.get(_changed(call.asked).to, "")
    until_ns = FOREVER_NS if call.answered is None else call.answered.time_ns
    return kafka_versions(history).oldest(call.asked.time_ns, until_ns, [name]) >= DURABLE_SINCE


def _change(places: _Places, call: _Call, *, durable: bool) -> None:
    """Apply a commit or a deletion, with any outcome."""
    if call.answered is not None and call.answered.type is FAIL:
        return
    asked = _changed(call.asked)
    offset = asked.offset if isinstance(asked, OffsetCommitted) else None
    if asked.partition is not None:
        places.setdefault((asked.topic, asked.partition), _Place())
    for (topic, partition), place in places.items():
        if topic != asked.topic or asked.partition not in {None, partition}:
            continue
        if call.answered is None or call.answered.type is not OK:
            place.late.add(offset)
            continue
        if call.asked.f == DELETE and not durable:
            place.late.add(place.value)
        place.value, place.by, place.since_ns = offset, asked.to, call.asked.time_ns
        place.operations = (call.asked.index, call.answered.index)


def _changed(asked: Operation) -> OffsetCommitted | OffsetsDeleted:
    """The commit or the deletion that was requested."""
    if asked.f == COMMIT:
        return msgspec.convert(asked.value, OffsetCommitted)
    return msgspec.convert(asked.value, OffsetsDeleted)


def _offsets_in(places: _Places, call: _Call) -> OffsetsFetched | None:
    """The offsets in an answer; None if it has none."""
    answered = call.answered
    if answered is None:
        return None
    if answered.f == FETCH:
        return msgspec.convert(answered.value, OffsetsFetched) if answered.type is OK else None
    refused = _changed(answered)
    if answered.f == COMMIT or refused.code != ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    nothing = tuple((number, None) for topic, number in places if topic == refused.topic)
    return OffsetsFetched(topic=refused.topic, to=refused.to, offsets=nothing)


def _compared(places: _Places, answer: OffsetsFetched, *, final: bool) -> Iterator[_Comparison]:
    for partition, offset in answer.offsets:
        place = places.get((answer.topic, partition))
        if place is not None and place.by is not None and (final or answer.to == place.by):
            yield _Comparison((answer.topic, partition), place, offset)


def _against(history: History, asked: Operation, answered: Operation, wrong: _Comparison) -> Anomaly:
    (topic, number), place, offset = wrong
    kind, name = RETURNED if place.value is None else LOST, f"{asked.key} {topic}/{number}"
    done = "deleted" if place.value is None else f"committed as {place.value}"
    returned = f"broker {asked.value['to']} returned {'no offset' if offset is None else offset}"
    anomaly = kind.found(
        f"The offset of {name} was {done}, and {returned}.",
        subject=name,
        time_ns=answered.time_ns,
        witness=(*place.operations, asked.index, answered.index),
        explanation=(
            f"Asked at {place.since_ns / 1e9:.3f} s, broker {place.by} acknowledged that it was {done}.",
            f"Asked at {asked.time_ns / 1e9:.3f} s, {returned}.",
            "No change with an unknown outcome explains this.",
        ),
    )
    partition = offsets_partition(history, str(asked.key))
    stored_in = None if partition is None else partition.partition
    lost = may_have_lost(history, OFFSETS_TOPIC, stored_in, place.since_ns, answered.time_ns)
    return anomaly if lost is None else msgspec.structs.replace(anomaly, illegal=False, licence=lost)


ENTRY = Entry(CHECKER, check_erasures, ANOMALIES, NEEDS)
