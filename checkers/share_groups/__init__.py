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

Which legal losses excuse which findings: `excuses`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from checkers.columns.tables import NONE, GroupPartition
from checkers.evidence.share_states import unread_share_states
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.history.sources import unassigned_damage
from checkers.share_groups.anomalies import ANOMALIES, NEEDS, STUCK, UNDELIVERED
from checkers.share_groups.beginnings import below_beginnings
from checkers.share_groups.calm import Calm
from checkers.share_groups.contents import compared_with_log
from checkers.share_groups.deliveries import Found, found_in
from checkers.share_groups.excuses import Excuses, with_licence
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
from checkers.verdict.tallies import AnomalyTally
from checkers.verdict.verdict import (
    EXAMPLES_PER_ANOMALY,
    Anomaly,
    Assumption,
    CheckerResult,
    OpenAnomaly,
    result_of,
)

__all__ = ["ENTRY", "check_share_groups"]

CHECKER = "share-groups"
KIND = "shares"
ACKNOWLEDGED_MIN = 10
"""The least number of records that a group must have accepted or rejected, as brokers confirmed."""


@dataclass(slots=True)
class _Judged:
    """Anomalies, at most `EXAMPLES_PER_ANOMALY` of each rule and place, their numbers, and open questions.

    The `doubts` are reasons why anomalies may have been missed.  Those that were found and may be permitted
    are in `open`, with the same reason for all that one event may permit.
    """

    anomalies: list[Anomaly] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    open: list[OpenAnomaly] = field(default_factory=list)
    tallies: list[AnomalyTally] = field(default_factory=list)

    def add(self, rule: str, count: int, examples: Sequence[Anomaly]) -> None:
        """Add the findings of one rule; a finding that a licence may explain stays undecided."""
        self.add_certain(rule, count, examples)
        for anomaly in examples:
            if anomaly.licence is not None:
                doubt = f"{anomaly.id} of {anomaly.subject} may follow from {anomaly.licence}"
                said = (one.doubt for one in self.open if one.doubt.endswith(anomaly.licence))
                self.open.append(OpenAnomaly(anomaly.id, next(said, doubt)))

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
    excuses = Excuses(history, groups)
    _add_deliveries(judged, history, groups, excuses)
    _add_compared(judged, history, groups)
    states = judge_states(history, groups)
    _add_states(judged, history, groups, states.found, excuses)
    judged.doubts += unread_share_states(history)
    _add_progress(judged, history, groups, expected, excuses)
    return result_of(
        CHECKER,
        judged.anomalies,
        counts=judged.counts,
        tallies=judged.tallies,
        assumptions=tuple(_acknowledged(groups, group) for group in expected),
        figures=_figures(groups) | {"states": states.records, "states_compared": states.compared},
        unknown_because="; ".join(judged.doubts) or None,
        open_anomalies=judged.open,
    )


def _add_deliveries(judged: _Judged, history: History, groups: ShareGroups, excuses: Excuses) -> None:
    """Add what is wrong with single deliveries and acknowledgements."""
    calm, times_ns = Calm(history), times_of(history)
    rules = (
        *found_in(groups, calm, recorded_setup(history).workload.delivery_limit),
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


def _add_compared(judged: _Judged, history: History, groups: ShareGroups) -> None:
    """Add deliveries that do not agree with what was sent and what others read."""
    times_ns = times_of(history)
    for compared in compared_with_log(history, groups):
        found = compared.found
        examples = [
            with_licence(found.anomaly(groups, times_ns, row), compared.text(row))
            for row in compared.examples(EXAMPLES_PER_ANOMALY)
        ]
        judged.add_certain(found.kind.id, len(found.place), examples)
        judged.open += [OpenAnomaly(found.kind.id, doubt) for doubt in compared.doubts()]


def _add_states(
    judged: _Judged,
    history: History,
    groups: ShareGroups,
    against: Iterable[StoredFinding],
    excuses: Excuses,
) -> None:
    """Add findings about the states that share coordinators wrote; `against` are those of `judge_states`."""
    states = (
        *against,
        *miscounted_states(history, groups),
        *incomplete_snapshots(history),
        *stored_starts_back(history),
        *repeated_initialisations(history),
    )
    for rule in dict.fromkeys(one.anomaly.id for one in states):
        found = [one for one in states if one.anomaly.id == rule]
        judged.add(rule, len(found), _illegal_first(excuses.stored(one) for one in found))


def _add_progress(
    judged: _Judged, history: History, groups: ShareGroups, expected: Iterable[str], excuses: Excuses
) -> None:
    """Add records that groups passed, or did not get in the end."""
    workload = recorded_setup(history).workload
    passing, settling = Passing(history, groups, workload), Settling(history, groups, workload)
    for group in expected:
        places = [passing.of(name) for name in passing.names(group)]
        for passed in places:
            anomalies = [excuses.passed(passed, row) for row in _examples(passed)]
            judged.add(UNDELIVERED.id, len(passed.offset), anomalies)
            judged.tallies += excuses.tallies(passed)
            if (stuck := settling.stuck(passed)) is not None:
                judged.add(STUCK.id, 1, [excuses.judged(stuck, passed.name)])
        judged.doubts += _unfinished(groups, group, places)


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
