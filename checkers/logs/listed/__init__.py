"""Judges the offsets that leaders list (ListOffsets): where partitions begin and end.

A broker answers if it leads in the epoch that the request names; otherwise it refuses.  It may not know yet
that a later leader was elected.  So it must know only what was acknowledged or reported before the next epoch
can have started.

1.  An end, or last stable offset, is above all offsets that were acknowledged or reported before, in the
   topics of an application of Kafka Streams also above all that were read: ``listed-end-behind`` (`ends`).
2. No reported offset is at or above a record that was sent only afterwards: ``listed-end-ahead``.
3. The last stable offset does not pass a transaction that is open: ``stable-offset-ahead`` (`stable`).
4. A log's start is not above the requested deletions and not below the acknowledged ones, and it does not
   decrease: ``listed-start-ahead``, ``listed-start-behind`` (`starts`).
5. DeleteRecords is answered after the logs of all in-sync followers start at or above the offset:
   ``deleted-before-followers`` (`followers`).
6. For a timestamp, and for the largest one, the right record is returned: ``listed-time-wrong`` (`times`).
   A record that was returned for one timestamp is not skipped for its own.

Events that permit the loss of records excuse 1, 2, 3 and 6 (`checkers.licences`).  Events that permit the
return of deleted records excuse 4 (`checkers.logs.replicas.deleted_records`).  A coordinator that was
permitted to lose the state of a transaction may end it too early, which excuses 3.  A known error of
Kafka's search by time counts as legal (`times`; docs/findings.md).
"""

from collections import Counter
from collections.abc import Iterable

from checkers.history.operations import History
from checkers.logs.listed.anomalies import ANOMALIES, NEEDS
from checkers.logs.listed.ends import find_ahead, find_behind
from checkers.logs.listed.followers import find_early, starts_of
from checkers.logs.listed.loading import ListedHistory, ListedPartition
from checkers.logs.listed.stable import find_stable_ahead
from checkers.logs.listed.starts import find_starts_ahead, find_starts_behind
from checkers.logs.listed.times import find_times, slack_ns
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

__all__ = ["ENTRY", "check_listed"]

CHECKER = "listed-offsets"
"""Name of the checker, as in verdicts."""
_RULES = (find_behind, find_ahead, find_stable_ahead, find_starts_ahead, find_starts_behind)


def check_listed(history: History) -> CheckerResult:
    """Judge all answers of leaders.

    The result is not exercised if no leader was asked.  Its figures count the answers to observers by kind.
    ``from_former_leaders`` counts those of leaders whose epoch may have ended before they were asked.
    ``from_unknown_leaders`` counts the answers to clients before which an epoch may have begun that not all
    brokers had reported.  Both are compared only with what was known before the later epoch.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    story = ListedHistory(history)
    slack = slack_ns(story)
    found: list[Anomaly] = []
    figures: Counter[str] = Counter()
    for place in story.places:
        for rule in _RULES:
            found += rule(story, place)
        if slack is not None:
            found += find_times(story, place, slack)
        figures.update(answer.what for answer in place.listings)
        figures["from_former_leaders"] += _fenced(place.listings)
        figures["from_unknown_leaders"] += _fenced(place.to_clients)
    found += find_early(story, figures)
    exercised = bool(story.places) or bool(starts_of(history))
    return result_of(CHECKER, found, figures=dict(figures), exercised=exercised)


def _fenced(some: Iterable[ListedPartition]) -> int:
    """How many answers may be from leaders of epochs that had ended when they were asked."""
    return sum(answer.fence_ns < answer.began_ns for answer in some)


ENTRY = Entry(CHECKER, check_listed, ANOMALIES, NEEDS)
