"""Counts the interesting states that a run reached; a valid run shows nothing about other states."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from checkers.verdict.verdict import Verdict


class _Counter(NamedTuple):
    """A counter: the checker, the name of its figure, the name of the counter, and that of one such state."""

    checker: str
    figure: str
    label: str
    one: str


COUNTERS = (
    _Counter("assumptions", "faults_of_disks", "faults of disks", "fault of a disk"),
    _Counter(
        "assumptions",
        "faults_withheld",
        "faults withheld to spare the last copies",
        "fault withheld to spare the last copies",
    ),
    _Counter("quorum", "leader_changes", "changes of the quorum's leader", "change of the quorum's leader"),
    _Counter("quorum", "epochs_seen", "epochs of the quorum", "epoch of the quorum"),
    _Counter("quorum", "voter_sets", "sets of voters", "set of voters"),
    _Counter("elections", "elections", "elections of partitions", "election of a partition"),
    _Counter("elections", "isr_shrinks", "shrinks of an ISR", "shrink of an ISR"),
    _Counter("elections", "elections_from_elr", "elections from the ELR", "election from the ELR"),
    _Counter("elections", "unclean_elections", "unclean elections", "unclean election"),
    _Counter("elections", "requests", "requests for elections", "request for an election"),
    _Counter("reassignments", "completed", "reassignments completed", "reassignment completed"),
    _Counter("reassignments", "cancelled", "reassignments cancelled", "reassignment cancelled"),
    _Counter("reassignments", "overridden", "reassignments overridden", "reassignment overridden"),
)
"""All counters, in the order in which they are listed."""
LABELS: Mapping[str, str] = {counter.figure: counter.label for counter in COUNTERS}
_ONE: Mapping[str, str] = {counter.figure: counter.one for counter in COUNTERS}


def coverage_of(verdict: Verdict) -> dict[str, int]:
    """The counters of a run by figure; counters that no checker has are left out."""
    figures = {result.checker: result.figures for result in verdict.results}
    figures_by_name = (
        (counter.figure, figures.get(counter.checker, {}).get(counter.figure)) for counter in COUNTERS
    )
    return {name: count for name, count in figures_by_name if isinstance(count, int)}


def coverage_line(coverage: Mapping[str, int]) -> str:
    """The reached states in one line; empty if none was reached."""
    return ", ".join(
        f"{count:,} {_ONE[name] if count == 1 else LABELS[name]}" for name, count in coverage.items() if count
    )


class Reached(NamedTuple):
    """A state over several runs: runs that recorded it, runs that reached it, and how often in total."""

    label: str
    reported: int
    runs: int
    total: int


def reached(runs: Iterable[Mapping[str, int]]) -> tuple[Reached, ...]:
    """All counters over several runs; counters that no run has are left out."""
    every = list(runs)
    counts = [(label, [run[name] for run in every if name in run]) for name, label in LABELS.items()]
    return tuple(
        Reached(label, len(numbers), sum(count > 0 for count in numbers), sum(numbers))
        for label, numbers in counts
        if numbers
    )
