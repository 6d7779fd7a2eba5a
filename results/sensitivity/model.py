"""The runs of a measurement with seeded bugs, and their results; pure.

There are two kinds of misses: a bug that was never triggered needs other faults, and one that was triggered
and not seen needs another checker.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import msgspec

from checkers.history.units import NS_PER_MS
from checkers.verdict.verdict import Anomaly, Verdict
from results.campaigns.summary import Outcome
from results.repeats.wilson import Interval, wilson


class BugReach(StrEnum):
    """How far a bug came in a run, as far as the nodes' logs report."""

    NOT_INJECTED = "not-injected"
    NEVER_REACHED = "never-reached"
    NEVER_TRIGGERED = "never-triggered"
    TRIGGERED = "triggered"


class BugOutcome(StrEnum):
    """How a run with a bug ended, or all runs with it: of several the first one here counts."""

    SEEN = "seen"
    """The verdict is invalid with an anomaly that the catalogue names of the bug, and it was triggered."""
    OTHERWISE = "invalid with other anomalies"
    """The bug was triggered, and no finding is one of its anomalies: maybe another bug of Kafka."""
    UNEXPLAINED = "invalid without a trigger"
    """The verdict is invalid, and no log reports a trigger: no find of this bug, and to be looked at."""
    TRIGGERED = "triggered and not seen"
    UNKNOWN = "unknown"
    """The run came to no decision, or left no log that reports how far the bug came."""
    NEVER_TRIGGERED = "never triggered"
    NEVER_REACHED = "never reached"
    """The place in the code was never come to, which is one way of never being triggered."""
    NOT_INJECTED = "not injected"
    FAILED = "harness failed"
    NOT_RUN = "not run"


class TimedAnomaly(msgspec.Struct, frozen=True):
    """An illegal anomaly, and when it was first visible, from the run's beginning; None if unknown."""

    id: str
    at_ms: int | None


class BugRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run with a bug.

    Attributes:
        number: of the try, from 1 on.
        scenario: its name.
        mode: of the cluster.
        command: the line that runs it again.
        ending: how it ended.
        reach: how far the bug came; None where no log reports.
        folder: the run's, by its name; empty if there is none.
        found: by what it was invalid, what was visible first in front.
        run_ms: how long the run took from its beginning to its last operation.
        why: why it is unknown or failed.
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

    def held_to(self, anomalies: Collection[str]) -> "BugRun":
        """The same run, seen if it showed one of these, and invalid otherwise if it showed others alone."""
        if self.ending not in (BugOutcome.SEEN, BugOutcome.OTHERWISE):
            return self
        shown = any(one.id in anomalies for one in self.found)
        return msgspec.structs.replace(self, ending=BugOutcome.SEEN if shown else BugOutcome.OTHERWISE)


class ControlRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run without a bug.

    Attributes:
        scenario: its name.
        mode: of the cluster.
        command: the line that runs it again.
        outcome: how it ended; None where it was not run.
        anomalies: ids of what was found against a promise: each a false alarm, or a bug of Kafka's own.
        allowed: whether its scenario allows for them, since Kafka has them by design.
        folder: the run's, by its name.
        why: why it is unknown or failed.
    """

    scenario: str
    mode: str
    command: str
    outcome: Outcome | None = None
    anomalies: tuple[str, ...] = ()
    allowed: bool = False
    folder: str = ""
    why: str = ""

    @property
    def alarm(self) -> bool:
        """Whether it is invalid, and by what its scenario does not allow for."""
        return self.outcome is Outcome.INVALID and not self.allowed


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """One bug and its runs.

    Attributes:
        name: the bug's.
        area: what it is in.
        anomalies: ids of those that the catalogue expects of it.
        fitting: whether the preset draws what the bug takes.
        trials: in their order, up to the one in which it was seen.
    """

    name: str
    area: str
    anomalies: tuple[str, ...]
    fitting: bool
    trials: tuple[BugRun, ...]

    @property
    def ending(self) -> BugOutcome:
        """The best of its trials' endings."""
        return best(trial.ending for trial in self.trials)

    @property
    def finished(self) -> bool:
        """Whether it was seen or its budget is spent."""
        return self.ending is BugOutcome.SEEN or all(
            one.ending is not BugOutcome.NOT_RUN for one in self.trials
        )

    @property
    def first(self) -> TimedAnomaly | None:
        """By what it was seen first."""
        found = (one for trial in self.trials if trial.ending is BugOutcome.SEEN for one in trial.found)
        return next((one for one in found if one.id in self.anomalies), None)

    @property
    def runs(self) -> int:
        """How many runs there were, up to the one in which it was seen."""
        return sum(one.ending is not BugOutcome.NOT_RUN for one in self.trials)

    @property
    def spent_ms(self) -> int:
        """How long its runs took, the last one up to the anomaly by which it was seen."""
        whole = sum(one.run_ms for one in self.trials)
        seen = next((one for one in self.trials if one.ending is BugOutcome.SEEN), None)
        if seen is None or self.first is None or self.first.at_ms is None:
            return whole
        return whole - seen.run_ms + self.first.at_ms


class LeftOut(msgspec.Struct, frozen=True):
    """A stored run that does not count.

    Attributes:
        bug: the bug of the run.
        number: number of the try.
        control: whether it is the run without the bug.
        why: why it does not count.
    """

    bug: str
    number: int
    control: bool
    why: str


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """All data of a page.

    Attributes:
        version: the version of Kafka.
        preset: the preset of the random runs.
        budget: runs and seconds of each bug, as it is typed.
        seed: seed of the plan.
        bugs: by area and name.
        controls: the runs without a bug.
        withheld: bugs of the catalogue that do not fit the version.
        series: name of the measurement; empty without one.
        commits: commits of krucible with which its runs were made.
        left_out: known runs that do not count.
    """

    version: str
    preset: str
    budget: str
    seed: int
    bugs: tuple[Sought, ...]
    controls: tuple[ControlRun, ...]
    withheld: tuple[str, ...] = ()
    series: str = ""
    commits: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def runs(self) -> int:
        """How many runs a bug has at most."""
        return int(self.budget.split("x")[0])


class Rate(msgspec.Struct, frozen=True):
    """How many were seen of how many, and where the true share may lie."""

    seen: int
    of: int
    interval: Interval


def ending_of(outcome: Outcome, reach: BugReach | None) -> BugOutcome:
    """How a run with a bug ended, from its verdict and from what its nodes' logs report.

    Whether what it showed is the bug's own is for `BugRun.held_to`.
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
    """The one of several endings that counts; not run of none."""
    return min(endings, key=list(BugOutcome).index, default=BugOutcome.NOT_RUN)


def found_in(verdict: Verdict) -> tuple[TimedAnomaly, ...]:
    """Its illegal anomalies, each once, in the order in which they were visible; without a time last."""
    illegal = [one for result in verdict.results for one in result.anomalies if one.illegal]
    earliest: dict[str, TimedAnomaly] = {}
    for one in sorted(illegal, key=_visible):
        at_ms = None if one.time_ns is None else one.time_ns // NS_PER_MS
        earliest.setdefault(one.id, TimedAnomaly(one.id, at_ms))
    return tuple(earliest.values())


def rate_of(bugs: Sequence[Sought]) -> Rate:
    """How many bugs were seen, of those that had a run.

    A bug that was not seen and has runs left counts as missed, so that a measurement under way has a rate
    that can only grow.
    """
    tried = [bug for bug in bugs if bug.runs]
    seen = sum(bug.ending is BugOutcome.SEEN for bug in tried)
    return Rate(seen, len(tried), wilson(seen, len(tried)))


def first_rate_of(bugs: Sequence[Sought]) -> Rate:
    """How many bugs were seen in their first run, of those that had one."""
    firsts = [bug.trials[0].ending for bug in bugs if bug.trials]
    tried = len(firsts) - firsts.count(BugOutcome.NOT_RUN)
    seen = firsts.count(BugOutcome.SEEN)
    return Rate(seen, tried, wilson(seen, tried))


def _visible(anomaly: Anomaly) -> tuple[bool, int, str]:
    return anomaly.time_ns is None, anomaly.time_ns or 0, anomaly.id
