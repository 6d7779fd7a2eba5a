"""Judges share groups (KIP-932): received and acknowledged records, and the groups' positions.

Operations are those of docs/histories.md: *share-poll*, *acknowledge*, *share-offsets*,
*alter-share-offsets* and *delete-share-offsets*.  Dead-letter queues have a checker of their own, in
`dead_letters`.

1. ``share-undelivered``: the group passed a record that no member received (`passing`).
2. ``acknowledged-twice``, ``delivered-after-acknowledgement``: a record was accepted or rejected, and
   delivered or acknowledged again.
3. ``too-many-deliveries``, ``delivery-count-lost``: counts of deliveries.
4. ``acquired-twice``, ``share-lock-lost``: a record was delivered to another member while a member held it,
   or a member that held it could not acknowledge it (`locks`).
5. ``share-start-went-back``: a record below the start offset was delivered (2 to 5: `deliveries`).
   ``share-start-not-set``: one below a start offset that an administrator had set (`beginnings`).
6. ``share-phantom``, ``share-wrong-record``, ``share-not-in-log``: a delivered record is not one that
   producers wrote and other readers found (`contents`).
7. ``share-stuck``: after the recovery a new record, or one whose lock ended, is not delivered (`settling`).
8. ``share-uncommitted-read``: a group with read_committed got a record that was not committed (`isolation`).
9. ``share-answered-early``, ``share-state-unasked``, ``share-state-undone``, ``share-state-epoch-back``: the
   log of the share coordinator does not agree with the acknowledgements, or with itself (`states`).
10. ``share-snapshot-incomplete``: a snapshot in that log lacks a state (`snapshots`).
11. ``share-state-start-back``: a start offset in that log goes back (`stored_starts`).
12. ``share-state-miscounted``: an accepted record has another delivery count in that log (`stored_counts`).
13. ``share-state-initialised-again``: a state in that log begins again, unasked (`repeats`).

If an administrator sets a start offset, the group begins again there.  Rules 2, 3, 4 and 5 compare only what
happened since the last change, and so does rule 1 (`lives`).

A record may be delivered several times: after a release, when a lock ends, or because its leader changed;
this is a figure.  Delivery counts may repeat, because a count is stored only with an acknowledgement
(KIP-932: counts are not exact).  A new leader forgets acquisitions, and a deposed one may repeat them; `calm`
leaves those times out.  An acknowledgement that failed, or whose outcome is unknown, was not confirmed by a
broker, and permits any result.

A legal loss in the partition with the state of a share group excuses findings that depend on stored states
and were seen after it.  So does one in the partition of ``__consumer_offsets`` that tells which states the
group has: its coordinator initialises the others again.  A legal loss in the partition that is read excuses
findings that depend on offsets, because these may be written again.  Rule 6 has the licences of the log
checker.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, NONE, GroupPartition, PartitionName
from checkers.evidence.coordinators import (
    OFFSETS_TOPIC,
    SHARES_TOPIC,
    offsets_partition,
    shares_partition,
)
from checkers.evidence.share_states import unread_share_states
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.history.sources import unassigned_damage
from checkers.licences import Permit, licences_of
from checkers.licences.internal import Loss, losses
from checkers.share_groups.anomalies import (
    ANOMALIES,
    HELD_TWICE,
    NEEDS,
    START_WENT_BACK,
    STATE_MISCOUNTED,
    STATE_UNASKED,
    STUCK,
    TOO_MANY,
    UNCOMMITTED_READ,
    UNDELIVERED,
)
from checkers.share_groups.beginnings import below_beginnings
from checkers.share_groups.calm import Calm
from checkers.share_groups.contents import compared_with_log
from checkers.share_groups.deliveries import Found, found_in
from checkers.share_groups.isolation import uncommitted_reads
from checkers.share_groups.loading import RELEASE, ShareGroups, share_groups_of, times_of
from checkers.share_groups.locks import locks_lost
from checkers.share_groups.passing import Passed, Passing
from checkers.share_groups.repeats import repeated_initialisations
from checkers.share_groups.settling import Settling
from checkers.share_groups.snapshots import incomplete_snapshots
from checkers.share_groups.states import judge_states
from checkers.share_groups.stored_counts import miscounted_states
from checkers.share_groups.stored_logs import StoredFinding
from checkers.share_groups.stored_starts import stored_starts_back
from checkers.verdict.entry import Entry
from checkers.verdict.tallies import AnomalyTally, tallied
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly, Assumption, CheckerResult, result_of

__all__ = ["ENTRY", "check_share_groups"]

CHECKER = "share-groups"
KIND = "shares"
ACKNOWLEDGED_MIN = 10
"""The least number of records that a group must have accepted or rejected, as brokers confirmed."""
_NEVER_EXCUSED = frozenset(
    (HELD_TWICE.id, TOO_MANY.id, STATE_UNASKED.id, STATE_MISCOUNTED.id, UNCOMMITTED_READ.id)
)
"""Anomalies that no loss of stored states explains."""
_OUT_OF_TRIES = "tries whose answers were lost may have used up the limit of deliveries"


@dataclass(slots=True)
class _Judged:
    """Anomalies, at most `EXAMPLES_PER_ANOMALY` of each rule and place, their numbers, and open questions."""

    anomalies: list[Anomaly] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    tallies: list[AnomalyTally] = field(default_factory=list)

    def add(self, rule: str, count: int, examples: Sequence[Anomaly]) -> None:
        """Add the findings of one rule; a finding that a licence may explain stays undecided."""
        self.add_certain(rule, count, examples)
        for anomaly in examples:
            if anomaly.licence is not None:
                doubt = f"{anomaly.id} of {anomaly.subject} may follow from {anomaly.licence}"
                if not any(known.endswith(anomaly.licence) for known in self.doubts):
                    self.doubts.append(doubt)

    def add_certain(self, rule: str, count: int, examples: Sequence[Anomaly]) -> None:
        """Add the findings of one rule, whose licences permit them."""
        if count:
            self.counts[rule] = self.counts.get(rule, 0) + count
        self.anomalies += examples


def check_share_groups(history: History) -> CheckerResult:
    """Judge the share groups of a history.

    The result is not exercised if the history has none and was not meant to have any.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    groups, workload = share_groups_of(history), recorded_setup(history).workload
    expected = workload.groups if workload.kind == KIND and not isinstance(workload.groups, int) else ()
    if not groups.topics and not expected:
        return result_of(CHECKER, [], exercised=False)
    judged = _Judged(doubts=list(unassigned_damage(history)))
    excuses = _Excuses(history)
    times_ns = times_of(history)
    calm = Calm(history)
    rules = (
        *found_in(groups, calm, workload.delivery_limit),
        locks_lost(history, groups, calm),
        below_beginnings(history, groups, calm),
        uncommitted_reads(history, groups),
    )
    for found in rules:
        every = (
            excuses.judged(found.anomaly(groups, times_ns, row), _name(groups, found, row))
            for row in range(len(found.place))
        )
        judged.add(found.kind.id, len(found.place), _illegal_first(every))
    for compared in compared_with_log(history, groups):
        found = compared.found
        examples = [
            _with_licence(found.anomaly(groups, times_ns, row), compared.text(row))
            for row in compared.examples(EXAMPLES_PER_ANOMALY)
        ]
        judged.add_certain(found.kind.id, len(found.place), examples)
        judged.doubts += compared.doubts()
    states = judge_states(history, groups)
    of_logs = (
        *states.found,
        *miscounted_states(history, groups),
        *incomplete_snapshots(history),
        *stored_starts_back(history),
        *repeated_initialisations(history),
    )
    _add_states(judged, of_logs, excuses)
    judged.doubts += unread_share_states(history)
    passing, settling = Passing(history, groups, workload), Settling(history, groups, workload)
    assumptions: list[Assumption] = []
    for group in expected:
        places = [passing.of(name) for name in passing.names(group)]
        for passed in places:
            rows = _examples(passed)
            anomalies = [excuses.passed(passed, row) for row in rows]
            judged.add(UNDELIVERED.id, len(passed.offset), anomalies)
            judged.tallies += excuses.tallies(passed)
            if (stuck := settling.stuck(passed)) is not None:
                judged.add(STUCK.id, 1, [excuses.judged(stuck, passed.name)])
        judged.doubts += _unfinished(groups, group, places)
        assumptions.append(_acknowledged(groups, group))
    return result_of(
        CHECKER,
        judged.anomalies,
        counts=judged.counts,
        tallies=judged.tallies,
        assumptions=tuple(assumptions),
        figures=_figures(groups) | {"states": states.records, "states_compared": states.compared},
        unknown_because="; ".join(judged.doubts) or None,
    )


def _add_states(judged: "_Judged", states: Sequence[StoredFinding], excuses: "_Excuses") -> None:
    """Add the findings about the states that share coordinators wrote."""
    for rule in dict.fromkeys(one.anomaly.id for one in states):
        found = [one for one in states if one.anomaly.id == rule]
        judged.add(rule, len(found), _illegal_first(excuses.judged(one.anomaly, one.name) for one in found))


def _illegal_first(judged: Iterable[Anomaly]) -> list[Anomaly]:
    """Examples of the findings of one rule, first those that no event may explain."""
    illegal: list[Anomaly] = []
    explained: list[Anomaly] = []
    for anomaly in judged:
        if anomaly.illegal:
            illegal.append(anomaly)
        elif len(explained) < EXAMPLES_PER_ANOMALY:
            explained.append(anomaly)
        if len(illegal) == EXAMPLES_PER_ANOMALY:
            break
    return [*illegal, *explained][:EXAMPLES_PER_ANOMALY]


def _name(groups: ShareGroups, found: Found, row: int) -> GroupPartition:
    return groups.places[int(found.place[row])]


def _examples(passed: Passed) -> list[int]:
    """Rows of some records; those that are certainly lost come first."""
    rows = sorted(range(len(passed.offset)), key=passed.out_of_tries.__getitem__)
    return rows[:EXAMPLES_PER_ANOMALY]


class _Excuses:
    """Events that may explain findings."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._has_setup = bool(history.of("setup"))
        self._losses: dict[GroupPartition, tuple[Loss, ...]] = {}

    def judged(self, anomaly: Anomaly, name: GroupPartition) -> Anomaly:
        """A finding about one delivery; it is legal, with its licence, if an event may explain it."""
        licence = None if anomaly.id in _NEVER_EXCUSED else self._lost(name, _seen_ns(anomaly))
        if licence is None and anomaly.id == START_WENT_BACK.id:
            licence = self._truncated(name, until_ns=_seen_ns(anomaly))
        if anomaly.id == UNCOMMITTED_READ.id:
            # The partition may also have lost the marker of a commit after the delivery.
            licence = self._truncated(name) or self._undecided(anomaly)
        return _with_licence(anomaly, licence)

    def _undecided(self, anomaly: Anomaly) -> str | None:
        """An event by which the decision on a transaction of the finding may have been lost."""
        decisions = licences_of(self._history).decisions
        rows = decisions.of(np.array(anomaly.witness, np.int64))
        return next((decisions.texts[row] for row in rows.tolist() if row != NONE), None)

    def passed(self, passed: Passed, row: int) -> Anomaly:
        """A finding about a passed record; it is legal, with its licence, if an event may explain it."""
        anomaly, offset = passed.anomaly(self._history, row), int(passed.offset[row])
        # The record may also have been written after the group had passed another one at its offset.
        licence = _OUT_OF_TRIES if passed.out_of_tries[row] else self._truncated(passed.name, offset=offset)
        return _with_licence(anomaly, licence or self._lost(passed.name, _seen_ns(anomaly)))

    def tallies(self, passed: Passed) -> Iterator[AnomalyTally]:
        """The numbers of passed records of a share partition by whether an event may explain them."""
        if not len(passed.offset):
            return
        answered_ns = np.full(len(passed.offset), self._history.operations[passed.witness[-1]].time_ns)
        lost = self._lost(passed.name, int(answered_ns[0])) is not None
        truncated = min((permit.event.above or 0 for permit in self._truncating(passed.name)), default=NEVER)
        illegal = ~np.array(passed.out_of_tries, np.bool_) & (passed.offset < truncated) & ~np.bool_(lost)
        for broken in (True, False):
            rows = illegal == broken
            place, offset = str(passed.name), passed.offset[rows]
            yield from tallied(UNDELIVERED.id, place, answered_ns[rows], offset, illegal=broken)

    def _lost(self, name: GroupPartition, until_ns: int) -> str | None:
        """An event by which the state of a share partition may have been lost by a time."""
        if name not in self._losses:
            places = (shares_partition(self._history, name), offsets_partition(self._history, name.group))
            self._losses[name] = tuple(
                loss
                for topic, place in zip((SHARES_TOPIC, OFFSETS_TOPIC), places, strict=True)
                for loss in losses(self._history, topic, None if place is None else place.partition)
                if self._has_setup
            )
        return next((loss.text for loss in self._losses[name] if loss.meets(0, until_ns)), None)

    def _truncated(self, name: GroupPartition, *, until_ns: int = NEVER, offset: int = NEVER) -> str | None:
        """An event that may have truncated a partition by a time, and removed the record at an offset."""
        met = (
            permit.text
            for permit in self._truncating(name)
            if permit.event.from_ns <= until_ns and (permit.event.above or 0) <= offset
        )
        return next(met, None)

    def _truncating(self, name: GroupPartition) -> list[Permit]:
        """The events that may have truncated a partition."""
        permits = licences_of(self._history).of(PartitionName(name.topic, name.partition))
        return [permit for permit in permits if permit.covers_returned and permit.event.below is None]


def _seen_ns(anomaly: Anomaly) -> int:
    return NEVER if anomaly.time_ns is None else anomaly.time_ns


def _with_licence(anomaly: Anomaly, licence: str | None) -> Anomaly:
    return msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence)


def _unfinished(groups: ShareGroups, group: str, places: Iterable[Passed]) -> Iterator[str]:
    """Why it is unknown what a group received in the end."""
    if group not in groups.topics:
        yield f"no member of {group} polled"
        return
    behind = [f"{passed.open} records of {passed.name}" for passed in places if passed.open]
    if behind:
        yield f"the group did not finish {', '.join(behind)}"


def _acknowledged(groups: ShareGroups, group: str) -> Assumption:
    acks = groups.acknowledgements
    mine = [code for code, name in enumerate(groups.places) if name.group == group]
    final = np.isin(groups.deliveries.place[acks.delivery], mine) & (acks.kind != RELEASE)
    return Assumption(
        f"acknowledged {group}",
        int(final.sum()) >= ACKNOWLEDGED_MIN,
        f"at least {ACKNOWLEDGED_MIN} records accepted or rejected, confirmed by brokers",
        str(int(final.sum())),
    )


def _figures(groups: ShareGroups) -> dict[str, int]:
    all_, acks = groups.deliveries, groups.acknowledgements
    records = len(np.unique(all_.record))
    return {
        "deliveries": len(all_.record),
        "records": records,
        "deliveries_again": len(all_.record) - records,
        "delivery_count_max": int(all_.count.max(initial=0)),
        "acknowledged": len(acks.kind),
        "released": int((acks.kind == RELEASE).sum()),
        "renewed": len(groups.renewals.kind),
        "unconfirmed": groups.unconfirmed,
        "starts_set": sum(life.known and life.ended != NONE for life in groups.lives.all),
    }


ENTRY = Entry(CHECKER, check_share_groups, ANOMALIES, NEEDS)
