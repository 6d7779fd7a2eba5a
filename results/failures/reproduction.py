"""Whether a run's anomalies recur in other runs: signatures of verdicts, and the rate with its interval."""

import math
from collections.abc import Sequence

import msgspec

from checkers.verdict.verdict import VERDICTS, Anomaly, Validity, Verdict
from results.repeats.wilson import wilson
from results.run.wording import normalised


class Signature(msgspec.Struct, frozen=True):
    """The verdict of a run, without details that differ from run to run.

    Attributes:
        validity: validity of the verdict.
        anomalies: ``checker/id`` of each kind of illegal anomaly, sorted.
        summary: summary of the first anomaly, with ``#`` for each number.
    """

    validity: Validity
    anomalies: tuple[str, ...] = ()
    summary: str = ""

    def text(self) -> str:
        """A short text of the signature."""
        return ", ".join(self.anomalies) or f"the verdict {self.validity}"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a recorded schedule.

    Attributes:
        number: from 1.
        folder: the run's folder; empty if the harness failed before it was created.
        found: signature of its verdict; None if the harness failed.
        differences: differences to the recorded run, one sentence each.
        failure: why there is no verdict.
    """

    number: int
    folder: str = ""
    found: Signature | None = None
    differences: tuple[str, ...] = ()
    failure: str = ""


class Rate(msgspec.Struct, frozen=True):
    """How often something happened, with the 95 % Wilson interval of the share.

    Attributes:
        count: number of events.
        of: number of trials.
        low: lower end, 0 to 1.
        high: upper end, 0 to 1.
    """

    count: int
    of: int
    low: float
    high: float

    def text(self) -> str:
        """``3 of 5 (23 to 88 %)``."""
        return f"{self.count} of {self.of} ({self.low * 100:.0f} to {self.high * 100:.0f} %)"


class Reproduction(msgspec.Struct, frozen=True):
    """Result of repeating a recorded schedule.

    Attributes:
        wanted: signature of the recorded run's verdict.
        rate: how often it recurred, among the runs that decided it.
        same_summary: number of these runs with the same first sentence.
        counts: number of runs by verdict, and ``failed``.
        attempts: all runs.
    """

    wanted: Signature
    rate: Rate
    same_summary: int
    counts: dict[str, int]
    attempts: tuple[Attempt, ...]


def signature_of(verdict: Verdict) -> Signature:
    """The signature of a verdict, without details that differ from run to run."""
    found = _illegal(verdict)
    first = min(found, key=lambda each: _moment(each[1]), default=None)
    return Signature(
        verdict.validity,
        tuple(sorted({f"{checker}/{anomaly.id}" for checker, anomaly in found})),
        "" if first is None else normalised(first[1].summary),
    )


def came_back(wanted: Signature, found: Signature) -> bool:
    """Whether a run has the same validity and all wanted anomalies; it may have others."""
    return found.validity is wanted.validity and set(wanted.anomalies) <= set(found.anomalies)


def reproduction_of(wanted: Signature, attempts: Sequence[Attempt]) -> Reproduction:
    """Summarize attempts; runs without a verdict, and unknown ones, are not counted in the rate."""
    found = [attempt.found for attempt in attempts if attempt.found is not None]
    deciding = [each for each in found if Validity.UNKNOWN not in {each.validity} - {wanted.validity}]
    same = [each for each in deciding if came_back(wanted, each)]
    counts = {validity.value: sum(each.validity is validity for each in found) for validity in VERDICTS}
    return Reproduction(
        wanted,
        rate_of(len(same), len(deciding)),
        sum(each.summary == wanted.summary for each in same),
        counts | {"failed": len(attempts) - len(found)},
        tuple(attempts),
    )


def rate_of(count: int, of: int) -> Rate:
    """How often something happened, with its interval.

    Raises:
        ValueError: the count is negative or larger than `of`.
    """
    return Rate(count, of, *wilson(count, of))


def _illegal(verdict: Verdict) -> list[tuple[str, Anomaly]]:
    return [
        (result.checker, anomaly)
        for result in verdict.results
        for anomaly in result.anomalies
        if anomaly.illegal
    ]


def _moment(anomaly: Anomaly) -> tuple[float, str]:
    return (math.inf if anomaly.time_ns is None else anomaly.time_ns, anomaly.id)
