"""The partitions checker: compares the metadata log, acknowledgements, and the answers of brokers.

Evidence is the metadata log that reaches farthest, record by record, including Kafka's internal topics.

1.  After each record the leader is in the ISR, the ISR is a subset of the replicas and disjoint from the ELR,
   and the ELR is empty while the ISR has ``min.insync.replicas`` members (`states`).  A change record changes
   something, concerns an existing partition, and marks unclean elections.  Brokers that may not be chosen are
   not chosen (`registrations`, `cordons`).
2. Epochs and blocks of producers' ids grow (`counters`).
3.  Records that were sent while too few replicas were in sync, or while one of them was down, are neither
    acknowledged nor returned until this has ended (`zones`, `acknowledged`).  Acknowledged or returned
    records are in the log of every member of the ISR, as its disk shows (`copies`), and so are commits of
    groups (`commits`).  The log of the offsets topic has all acknowledged commits (`logged`).  After
    compaction it still has the last commit of each group and partition, and on a leader the last one before
    its active segment (`kept_commits`).
4. When their brokers start again, replicas have the records that they had before.  No leader's high watermark
   is above the log end of a member of its ISR (`ends`).
5.  Brokers' answers agree with the log, with each other and with recovery (`views`).  Brokers report the
   existing partitions, and continue to report them (`misreported_topics`).
6. A broker no longer leads after its own metadata names another leader (`leading`), or after a log directory
   has failed (`failed_directories`, `dead_directories`).
"""

from collections import Counter
from collections.abc import Iterator

from checkers.columns.tables import NEVER
from checkers.evidence.loading import columns_of
from checkers.evidence.metadata_log import append_times, farthest
from checkers.history.observed import began_ns
from checkers.history.operations import History
from checkers.history.replicas import EVIDENCE_METADATA
from checkers.history.setup import recorded_setup
from checkers.history.units import NS_PER_S
from checkers.licences.facts import Facts
from checkers.logs.partitions.acknowledged import Records, ZoneFinding
from checkers.logs.partitions.anomalies import (
    ACKED_BELOW_MIN_ISR,
    ACKED_WITHOUT_MEMBER,
    ANOMALIES,
    NEEDS,
    READ_WITHOUT_MEMBER,
)
from checkers.logs.partitions.brokers import answers_of
from checkers.logs.partitions.commits import AcknowledgedCommits
from checkers.logs.partitions.copies import ReportedRecords, Violations, ends_of, lacking_copies
from checkers.logs.partitions.dead_directories import dead_directories
from checkers.logs.partitions.ends import acknowledged_rows, find_ends
from checkers.logs.partitions.ends import figures as figures_of_ends
from checkers.logs.partitions.failed_directories import failed_directories
from checkers.logs.partitions.kept_commits import CommitsKept
from checkers.logs.partitions.leading import leadership_kept, leading_of
from checkers.logs.partitions.logged import LoggedCommits
from checkers.logs.partitions.misreported_topics import misreported_topics
from checkers.logs.partitions.truncations import find_removed, find_truncations
from checkers.logs.partitions.views import contradictions
from checkers.logs.partitions.walk import Walk
from checkers.logs.partitions.zones import Zone, below_min_isr, member_down
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import CheckerResult, result_of

__all__ = ["ENTRY", "check_partitions"]

CHECKER = "partitions"
"""Name of the checker, as in verdicts."""


def check_partitions(history: History) -> CheckerResult:
    """Judge partitions by the metadata log, clients' operations and brokers' answers.

    The result is unknown if a metadata log had to be gathered and none could be read, or if the log lacks its
    beginning or end.

    Raises:
        msgspec.ValidationError: an operation, or a record of the log, is not as docs/histories.md says.
    """
    walk, facts, end_ns = Walk(history), Facts(history), _complete_ns(history)
    views = [*contradictions(facts, end_ns), *misreported_topics(facts)]
    led: Counter[str] = Counter()
    views += [*leadership_kept(facts), *failed_directories(facts, led)]
    views += dead_directories(facts, columns_of(history))
    if farthest(history):
        columns = columns_of(history)
        rows = acknowledged_rows(columns)
        views += [*find_ends(facts, columns, rows), *find_truncations(facts)]
        views += find_removed(facts, columns, rows)
    counts = Counter(anomaly.id for anomaly in (*walk.found, *views))
    blamed = _Blamed(facts, end_ns)
    for found in blamed.found:
        counts[found.kind.id] += found.number
    return result_of(
        CHECKER,
        [*walk.found, *views, *(anomaly for found in blamed.found for anomaly in found.anomalies)],
        counts=dict(+counts),
        figures={
            **walk.figures,
            **blamed.figures,
            **_figures_of_answers(history),
            **led,
            **figures_of_ends(facts),
        },
        unknown_because=_doubt(history),
        exercised=walk.figures["states"] > 0 or bool(answers_of(history)) or bool(leading_of(history)),
    )


def _complete_ns(history: History) -> int:
    """The time until which the metadata log is complete: it was read then, or leaders had more."""
    log = farthest(history)
    if log is None:
        return 0
    return min(began_ns(log.operation), append_times(history).complete_until_ns(log))


def _figures_of_answers(history: History) -> dict[str, int]:
    """Numbers of the brokers' reports."""
    answers = answers_of(history)
    return {
        "answers_of_brokers": len(answers),
        "states_reported": sum(len(answer.states) for answer in answers),
    }


def _doubt(history: History) -> str | None:
    """Why parts of the metadata log can't be judged; None if all of it can."""
    log = farthest(history)
    if log is None:
        meant = EVIDENCE_METADATA in recorded_setup(history).evidence
        return "no metadata log that could be read has the states of partitions" if meant else None
    if log.seen.log_start:
        return f"the metadata log begins at offset {log.seen.log_start}: earlier records are not judged"
    if log.seen.records and log.seen.records[0].offset > 0:
        return f"the history has no record of the metadata log before offset {log.seen.records[0].offset}"
    if append_times(history).complete_until_ns(log) != NEVER:
        return (
            "leaders reported records beyond the longest metadata log that could be read, which "
            f"ends at {log.end}"
        )
    return None


class _Blamed:
    """Acknowledgements and reads that the states of partitions forbid."""

    def __init__(self, facts: Facts, end_ns: int) -> None:
        self.found: list[ZoneFinding | Violations] = []
        self.figures: dict[str, float] = {}
        log = farthest(facts.history)
        if log is not None:
            # Where it begins later, values of configs may be before it.
            below = [] if log.seen.log_start else list(below_min_isr(facts, end_ns))
            down = list(member_down(facts, end_ns))
            records = Records(columns_of(facts.history), log.operation.index)
            self.figures = records.figures | {
                "below_min_isr_s": _seconds(below),
                "member_of_isr_down_s": _seconds(down),
                "ends_read": sum(len(ends.end) for ends in ends_of(facts.history).values()),
            }
            self.found += self._in(below, down, records)
            committed = AcknowledgedCommits(facts)
            self.figures |= committed.figures
            self.found += lacking_copies(
                facts, [ReportedRecords(columns_of(facts.history)), committed], end_ns
            )
            for of_log in (LoggedCommits(facts, end_ns), CommitsKept(facts)):
                self.found += of_log.lacking()
                self.figures |= of_log.figures

    def _in(self, below: list[Zone], down: list[Zone], records: Records) -> Iterator[ZoneFinding]:
        for zone in below:
            yield records.acknowledged_in(ACKED_BELOW_MIN_ISR, zone)
        for zone in down:
            yield records.acknowledged_in(ACKED_WITHOUT_MEMBER, zone)
            yield records.returned_in(READ_WITHOUT_MEMBER, zone)


def _seconds(zones: list[Zone]) -> float:
    """How long zones last together, those of one time in several partitions counted for each."""
    return round(sum(zone.to_ns - zone.from_ns for zone in zones) / NS_PER_S, 1)


ENTRY = Entry(CHECKER, check_partitions, ANOMALIES, NEEDS)
