"""Signatures of failures, and which of them the past of a store did not have."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from checkers.verdict.verdict import Anomaly, Verdict
from results.reproduction import normalised


class Signed(NamedTuple):
    """What one run failed with.

    Attributes:
        run: what the caller knows it by, such as its place in the store.
        began: sorts runs by time; runs that began together are sorted by `run`.
        signatures: as `signatures_of` gives them; empty of a run that broke no promise.
    """

    run: str
    began: str
    signatures: tuple[str, ...]


def signatures_of(verdict: Verdict) -> tuple[str, ...]:
    """One for each kind of anomaly that breaks a promise, such as ``log/lost-write: value # is lost``.

    It has the sentence of the earliest of these anomalies, with a ``#`` for each number.
    """
    first: dict[str, Anomaly] = {}
    for result in verdict.results:
        for anomaly in sorted(result.anomalies, key=_moment):
            if anomaly.illegal:
                first.setdefault(f"{result.checker}/{anomaly.id}", anomaly)
    return tuple(sorted(f"{kind}: {normalised(anomaly.summary)}" for kind, anomaly in first.items()))


def new_signatures(runs: Iterable[Signed]) -> dict[str, tuple[str, ...]]:
    """By run, those of its signatures that no earlier run has; runs without any are left out.

    The earliest run of all has no past that it could be compared with, so nothing of it is new.

    Args:
        runs: every run of the store that was judged, in any order.
    """
    past: set[str] = set()
    found: dict[str, tuple[str, ...]] = {}
    for number, one in enumerate(sorted(runs, key=lambda run: (run.began, run.run))):
        new = tuple(signature for signature in one.signatures if signature not in past)
        if number and new:
            found[one.run] = new
        past.update(one.signatures)
    return found


def _moment(anomaly: Anomaly) -> float:
    return math.inf if anomaly.time_ns is None else anomaly.time_ns
