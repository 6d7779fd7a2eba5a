"""The runs of a measurement with seeded bugs, and their results; pure functions.

There are two kinds of misses: a bug that was not triggered needs other faults, and a bug that was triggered
but not seen needs another checker.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from checkers.history.units import NS_PER_MS
from checkers.judge import accepted_with
from checkers.verdict.verdict import Anomaly, Verdict
from results.campaigns.summary import Outcome
from results.repeats.wilson import Interval, wilson


class BugReach(StrEnum):
    """How far a bug got in a run, according to the logs of the nodes."""

    NOT_INJECTED = "not-injected"
    NEVER_REACHED = "never-reached"
    NEVER_TRIGGERED = "never-triggered"
    TRIGGERED = "triggered"


class BugOutcome(StrEnum):
    """The outcome of a run with a bug; for several runs the first value in this order counts."""

    SEEN = "seen"
    """The bug was triggered, and the verdict is invalid with an anomaly that the catalogue names for it."""
    ACCEPTED = "invalid with anomalies that the scenario accepts"
    """The bug was triggered, and all its anomalies that were found are accepted in runs without a bug."""
    OTHERWISE = "invalid with other anomalies"
    """The bug was triggered, but none of its anomalies was found: possibly another bug of Kafka."""
    UNEXPLAINED = "invalid without a trigger"
    """The verdict is invalid, but no log reports a trigger: does not count as seen; needs analysis."""
    TRIGGERED = "triggered and not seen"
    UNKNOWN = "unknown"
    """The verdict is unknown, or no log reports how far the bug got."""
    NEVER_TRIGGERED = "never triggered"
    NEVER_REACHED = "never reached"
    """The changed code was not executed, so the bug was not triggered."""
    NOT_INJECTED = "not injected"
    FAILED = "harness failed"
    NOT_RUN = "not run"


class TimedAnomaly(msgspec.Struct, frozen=True):
    """An illegal anomaly, and when it was first visible, from the start of the run; None if unknown."""

    id: str
    at_ms: int | None


class Accepted(NamedTuple):
    """Ids of anomalies that a run without a bug may have: alone, or only together with one of those."""

    alone: tuple[str, ...] = ()
    following: tuple[str, ...] = ()


class BugRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run with a bug.

    Attributes:
        number: number of the attempt, from 1.
        scenario: name of the scenario.
        mode: mode of the cluster.
        command: the command that repeats the run.
        ending: the outcome.
        reach: how far the bug got; None if no log reports it.
        folder: name of the run's folder; empty if there is none.
        found: illegal anomalies, the first visible one first.
        run_ms: time from the start of the run to its last operation.
        why: why it is unknown or failed.
        judged_again: whether another commit gave the verdict than the one that recorded it; None if unknown.
        accepted: ids that the scenario accepts without the bug in a run with these anomalies.
    """

    number: int
    scenario: str
    mode: str
    command: str
    ending: BugOutcome = BugOutcome.NOT_RUN
    reach: BugReach | None = None
    folder: str = ""
    found: tuple[TimedAnomaly, ...] = ()
    run_ms: int = 0
    why: str = ""
    judged_again: bool | None = None
    accepted: tuple[str, ...] = ()

    def held_to(self, anomalies: Collection[str], accepted: Accepted) -> "BugRun":
        """The run with its ending corrected.

        It is seen with one of the bug's anomalies that makes a run of the scenario unexpected.

        Args:
            anomalies: ids that the catalogue names for the bug.
            accepted: ids that the scenario accepts.
        """
        if self.ending not in (BugOutcome.SEEN, BugOutcome.ACCEPTED, BugOutcome.OTHERWISE):
            return self
        found = frozenset(one.id for one in self.found)
        permitted = accepted_with(found, *accepted)
        shown = found.intersection(anomalies)
        ending = BugOutcome.ACCEPTED if shown else BugOutcome.OTHERWISE
        if shown.difference(permitted):
            ending = BugOutcome.SEEN
        return msgspec.structs.replace(self, ending=ending, accepted=permitted)


class ControlRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run without a bug.

    Attributes:
        scenario: name of the scenario.
        mode: mode of the cluster.
        command: the command that repeats the run.
        outcome: the outcome; None if it was not run.
        anomalies: ids of illegal anomalies: each is a false alarm, or a bug of Kafka itself.
        allowed: whether the scenario permits them, because Kafka has them by design.
        cause: the bug of Kafka itself that somebody found to cause them; empty if there is none.
        folder: name of the run's folder.
        why: why it is unknown or failed.
        judged_again: as of a run with a bug.
    """

    scenario: str
    mode: str
    command: str
    outcome: Outcome | None = None
    anomalies: tuple[str, ...] = ()
    allowed: bool = False
    cause: str = ""
    folder: str = ""
    why: str = ""
    judged_again: bool | None = None

    @property
    def alarm(self) -> bool:
        """Whether it is invalid with anomalies that neither its scenario permits nor a known bug causes."""
        return self.outcome is Outcome.INVALID and not (self.allowed or self.cause)


class MeasuredBug(msgspec.Struct, frozen=True, kw_only=True):
    """One bug and its runs.

    Attributes:
        name: name of the bug.
        area: area of Kafka.
        anomalies: ids of the anomalies that the catalogue names for it.
        fitting: whether the preset draws what the bug needs.
        trials: runs in order, up to the one in which it was seen.
    """

    name: str
    area: str
    anomalies: tuple[str, ...]
    fitting: bool
    trials: tuple[BugRun, ...]

    @property
    def ending(self) -> BugOutcome:
        """The best ending of its trials."""
        return best(trial.ending for trial in self.trials)

    @property
    def finished(self) -> bool:
        """Whether it was seen or its budget is used up."""
        return self.ending is BugOutcome.SEEN or all(
            one.ending is not BugOutcome.NOT_RUN for one in self.trials
        )

    @property
    def first(self) -> TimedAnomaly | None:
        """The anomaly by which it was seen first."""
        seen = (trial for trial in self.trials if trial.ending is BugOutcome.SEEN)
        found = (one for trial in seen for one in trial.found if one.id not in trial.accepted)
        return next((one for one in found if one.id in self.anomalies), None)

    @property
    def runs(self) -> int:
        """Number of runs, up to the one in which it was seen."""
        return sum(one.ending is not BugOutcome.NOT_RUN for one in self.trials)

    @property
    def spent_ms(self) -> int:
        """Duration of its runs, the last one up to the anomaly by which it was seen."""
        whole = sum(one.run_ms for one in self.trials)
        seen = next((one for one in self.trials if one.ending is BugOutcome.SEEN), None)
        if seen is None or self.first is None or self.first.at_ms is None:
            return whole
        return whole - seen.run_ms + self.first.at_ms


class LeftOut(msgspec.Struct, frozen=True):
    """A stored run that does not count.

    Attributes:
        bug: the bug of the run.
        number: number of the attempt.
        control: whether it is the run without the bug.
        why: why it does not count.
    """

    bug: str
    number: int
    control: bool
    why: str


class MadeAgain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bug whose runs were made again, with the same seeds, after krucible was changed for that bug.

    Attributes:
        bug: name of the bug.
        why: what was changed.
    """

    bug: str
    why: str


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement: all data of a page.

    Attributes:
        version: the version of Kafka.
        preset: the preset of the random runs.
        budget: runs and seconds of each bug, as on the command line.
        seed: seed of the plan.
        bugs: bugs, by area and name.
        controls: the runs without a bug.
        withheld: bugs of the catalogue that do not fit the version.
        java_missing: why the host did not offer kafka-clients; empty if it did, or no bug needed it.
        needing_java: bugs with runs that were not made for that reason.
        series: name of the measurement; empty without one.
        commits: commits of krucible with which its runs were made.
        left_out: known runs that do not count.
        rerun: bugs whose runs were made again after a change for that bug.
    """

    version: str
    preset: str
    budget: str
    seed: int
    bugs: tuple[MeasuredBug, ...]
    controls: tuple[ControlRun, ...]
    withheld: tuple[str, ...] = ()
    java_missing: str = ""
    needing_java: tuple[str, ...] = ()
    series: str = ""
    commits: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    rerun: tuple[MadeAgain, ...] = ()

    @property
    def runs(self) -> int:
        """Maximum number of runs of a bug."""
        return int(self.budget.split("x")[0])


class Rate(msgspec.Struct, frozen=True):
    """Number of bugs seen, number of bugs, and the confidence interval of the share."""

    seen: int
    of: int
    interval: Interval


def ending_of(outcome: Outcome, reach: BugReach | None) -> BugOutcome:
    """The ending of a run with a bug, from its verdict and the logs of its nodes.

    `BugRun.held_to` decides whether the anomalies are those of the bug.
    """
    match outcome, reach:
        case Outcome.FAILED, _:
            return BugOutcome.FAILED
        case Outcome.INVALID, BugReach.TRIGGERED:
            return BugOutcome.SEEN
        case Outcome.INVALID, _:
            return BugOutcome.UNEXPLAINED
        case (Outcome.UNKNOWN, _) | (_, None):
            return BugOutcome.UNKNOWN
        case _:
            return _MISSES[reach]


_MISSES = {
    BugReach.TRIGGERED: BugOutcome.TRIGGERED,
    BugReach.NEVER_TRIGGERED: BugOutcome.NEVER_TRIGGERED,
    BugReach.NEVER_REACHED: BugOutcome.NEVER_REACHED,
    BugReach.NOT_INJECTED: BugOutcome.NOT_INJECTED,
}


def best(endings: Iterable[BugOutcome]) -> BugOutcome:
    """The ending that counts among several; not run if there is none."""
    return min(endings, key=list(BugOutcome).index, default=BugOutcome.NOT_RUN)


def found_in(verdict: Verdict) -> tuple[TimedAnomaly, ...]:
    """The illegal anomalies, each once, by the time at which they were visible; those without a time last."""
    illegal = [one for result in verdict.results for one in result.anomalies if one.illegal]
    earliest: dict[str, TimedAnomaly] = {}
    for one in sorted(illegal, key=_visible):
        at_ms = None if one.time_ns is None else one.time_ns // NS_PER_MS
        earliest.setdefault(one.id, TimedAnomaly(one.id, at_ms))
    return tuple(earliest.values())


def rate_of(bugs: Sequence[MeasuredBug]) -> Rate:
    """How many bugs were seen, among those with a run.

    A bug that was not seen and has runs left counts as missed, so the rate of an unfinished measurement can
    only increase.
    """
    tried = [bug for bug in bugs if bug.runs]
    seen = sum(bug.ending is BugOutcome.SEEN for bug in tried)
    return Rate(seen, len(tried), wilson(seen, len(tried)))


def first_rate_of(bugs: Sequence[MeasuredBug]) -> Rate:
    """How many bugs were seen in their first run, among those with a run."""
    firsts = [bug.trials[0].ending for bug in bugs if bug.trials]
    tried = len(firsts) - firsts.count(BugOutcome.NOT_RUN)
    seen = firsts.count(BugOutcome.SEEN)
    return Rate(seen, tried, wilson(seen, tried))


def rate_without_rerun(
    rate: Callable[[Sequence[MeasuredBug]], Rate], bugs: Sequence[MeasuredBug], rerun: Collection[MadeAgain]
) -> Rate:
    """A rate in which the bugs whose runs were made again after a change for them do not count as seen.

    Args:
        rate: how the rate is computed.
        bugs: all bugs; the number of tried ones includes those whose runs were made again.
        rerun: which runs were made again.
    """
    again = {one.bug for one in rerun}
    tried = rate(bugs).of
    seen = rate([bug for bug in bugs if bug.name not in again]).seen
    return Rate(seen, tried, wilson(seen, tried))


def _visible(anomaly: Anomaly) -> tuple[bool, int, str]:
    return anomaly.time_ns is None, anomaly.time_ns or 0, anomaly.id
