"""The reassignment checker: a reassignment reaches its target, and no replica is lost before (KIP-455).

Evidence is the metadata log.

1. The log itself shows how each reassignment ended (`steps`): ``reassignment-premature`` if a replica that
   had to be in sync was not, ``reassignment-not-restored`` if one ended with replicas that are neither new
   nor old, ``too-few-replicas``, and ``reassignment-without-end`` if one continued without a reason to wait.
   If at least as many replicas are added as removed, Kafka waits only for the added ones; this is counted,
   and is not an anomaly.  If it waits for others too (`held_up`): ``reassignment-held-up``.  If no request
   contained the new replicas: ``reassignment-unasked``.
2. Acknowledged requests must be in the log (`requests`): ``reassignment-lost``.
3. Reassignments that were listed as ongoing were in the log before (`listings`):
   ``reassignment-without-record``.  A target that a controller listed after it had lost its quorum is
   another anomaly (`uncommitted`): ``reassignment-uncommitted``.

The log checker judges whether acknowledged records are lost; a reassignment licenses no loss.
"""

from collections import Counter, defaultdict

from checkers.administration.reassignments.anomalies import ANOMALIES, NEEDS
from checkers.administration.reassignments.held_up import find_held_up
from checkers.administration.reassignments.listings import Listings, find_without_record
from checkers.administration.reassignments.requests import find_lost
from checkers.administration.reassignments.steps import (
    EndedReassignment,
    Ending,
    find_not_restored,
    find_premature,
    find_too_few,
    find_unrequested,
    find_without_end,
    steps_of,
)
from checkers.columns.tables import PartitionName
from checkers.evidence.administration import Reassignment, reassignments_of
from checkers.evidence.fates import Fate, counted, fate_of_reassignment
from checkers.evidence.partition_changes import PartitionChanges, partition_changes
from checkers.history.operations import History
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import CheckerResult, result_of

__all__ = ["ENTRY", "check_reassignments"]

CHECKER = "reassignments"
"""Name of the checker, as in verdicts."""


def check_reassignments(history: History) -> CheckerResult:
    """Judge reassignments.

    The result is unknown if some were requested and no metadata log shows their results.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    changes, asked, listings = partition_changes(history), reassignments_of(history), Listings(history)
    steps = list(steps_of(changes))
    sets: dict[PartitionName, set[frozenset[int]]] = defaultdict(set)
    for each in asked:
        if each.target is not None and not each.refused:
            sets[each.partition].add(frozenset(each.target))
    return result_of(
        CHECKER,
        [
            *find_premature(steps, changes.op),
            *find_not_restored(steps, sets, changes.op),
            *find_too_few(changes, sets),
            *find_unrequested(changes, sets),
            *find_without_end(changes),
            *find_held_up(history, changes),
            *find_lost(asked, changes),
            *find_without_record(history, changes, listings, asked),
        ],
        figures=_figures(asked, changes, steps) | _observed(listings),
        unknown_because=_doubt(asked, changes),
        exercised=bool(asked or listings.seen)
        or any(s.moving for some in changes.states.values() for s in some),
    )


def _doubt(asked: list[Reassignment], changes: PartitionChanges) -> str | None:
    """Why requests can't be judged; None if they can."""
    if asked and changes.op is None:
        return "reassignments were requested, and no metadata log could be read"
    if any(each.acknowledged and each.request.to_ns > changes.complete_until_ns for each in asked):
        return "reassignments were acknowledged after the end of all metadata logs that could be read"
    return None


def _figures(
    asked: list[Reassignment], changes: PartitionChanges, steps: list[EndedReassignment]
) -> dict[str, object]:
    codes = Counter(str(each.code) for each in asked if each.code is not None)
    fates = [
        fate_of_reassignment(each, changes) for each in asked if not each.acknowledged and not each.refused
    ]
    endings = Counter(step.ending for step in steps)
    last = [states[-1] for states in changes.states.values()]
    return {
        "asked": len(asked),
        "cancellations_asked": sum(each.target is None for each in asked),
        "answers_by_code": dict(sorted(codes.items())),
        "of_unknown_outcome": len(fates),
        "of_unknown_outcome_found": fates.count(Fate.HAPPENED),
        "of_unknown_outcome_resolved": counted(fates),
        **{f"{ending}": endings[ending] for ending in Ending},
        "completed_with_replica_out_of_sync": sum(
            step.ending is Ending.COMPLETED and bool(step.lacking) and not step.premature for step in steps
        ),
        "ongoing_in_the_end": sum(state.moving for state in last),
    }


def _observed(listings: Listings) -> dict[str, object]:
    """Numbers of listed reassignments, in total and at once, and their longest uninterrupted time."""
    return {
        "ongoing_listed": len(listings.seen),
        "ongoing_max": listings.most,
        "ongoing_ms_max": listings.longest_ms,
    }


ENTRY = Entry(CHECKER, check_reassignments, ANOMALIES, NEEDS)
