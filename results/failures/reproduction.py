"""Whether what one run found comes back in others: signatures of findings, and the rate with its interval."""

import math
import re
from collections.abc import Sequence

import msgspec

from checkers.verdict.verdict import VERDICTS, Anomaly, Validity, Verdict
from results.repeats.wilson import wilson

_IDS = re.compile(r"(?<![\w-])(?=[\w-]*\d)[A-Za-z0-9_-]{22}(?![\w-])")
"""Kafka's ids of topics, directories and clusters."""
_NUMBERS = re.compile(r"\d[\d,.]*(?<![,.])")
_LISTS = re.compile(r"#(?:, #)+")


class Signature(msgspec.Struct, frozen=True):
    """The findings of a run, without details that differ from run to run.

    Attributes:
        validity: validity of its verdict.
        anomalies: ``checker/id`` of every kind of illegal anomaly, sorted.
        summary: summary of the first anomaly, with a ``#`` for each number.
    """

    validity: Validity
    anomalies: tuple[str, ...] = ()
    summary: str = ""

    def text(self) -> str:
        """A short text of the signature."""
        return ", ".join(self.anomalies) or f"the verdict {self.validity}"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a schedule that was recorded.

    Attributes:
        number: counted from 1.
        folder: the run's; empty where the harness failed before there was one.
        found: what it found; None where the harness failed.
        differences: what was otherwise than then, one sentence each.
        failure: why there is no verdict.
    """

    number: int
    folder: str = ""
    found: Signature | None = None
    differences: tuple[str, ...] = ()
    failure: str = ""


class Rate(msgspec.Struct, frozen=True):
    """How often something happened, with Wilson's interval of 95 % around the share.

    Attributes:
        count: how often.
        of: of how many.
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
    """What came of carrying out a recorded schedule again.

    Attributes:
        wanted: what the recorded run found.
        rate: how often that came back, of the runs that decided it.
        same_summary: in how many of those the first sentence was the same, too.
        counts: runs by verdict, and ``failed``.
        attempts: every run.
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


def normalised(summary: str) -> str:
    """A sentence with a ``#`` for each number, list of numbers, and id of Kafka's."""
    return _LISTS.sub("#", _NUMBERS.sub("#", _IDS.sub("#", summary)))


def came_back(wanted: Signature, found: Signature) -> bool:
    """Whether a run has all wanted findings, with or without others, and the same verdict."""
    return found.validity is wanted.validity and set(wanted.anomalies) <= set(found.anomalies)


def reproduction_of(wanted: Signature, attempts: Sequence[Attempt]) -> Reproduction:
    """Sum up attempts; runs without a verdict, and those that are unknown, decide nothing."""
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
        ValueError: the count is negative or more than there are.
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
