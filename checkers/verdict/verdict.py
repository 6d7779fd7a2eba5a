"""Verdicts: the result of one checker, and the verdict that several results make."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from checkers.history.validity import Validity
from checkers.verdict.places import place_of
from checkers.verdict.tallies import AnomalyTally, placed, tallied

__all__ = [
    "EXAMPLES_PER_ANOMALY",
    "VERDICTS",
    "Anomaly",
    "Assumption",
    "CheckerResult",
    "OpenAnomaly",
    "Validity",
    "Verdict",
    "result_of",
]

EXAMPLES_PER_ANOMALY = 20
"""The largest number of anomalies of one id that a result lists; ``counts`` always has the exact number."""


VERDICTS = (Validity.VALID, Validity.INVALID, Validity.UNKNOWN)
"""The values that a verdict can have."""


class Anomaly(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finding of a checker, legal or illegal.

    Attributes:
        id: stable, documented name, e.g. ``lost-write``.
        summary: one sentence with the concrete values.
        guarantee: the guarantee that is broken; of a legal anomaly, the guarantee that it concerns.
        source: the source of that guarantee: a KIP, a paper, a ticket, a page of Kafka's docs.
        illegal: whether it breaks a guarantee in this run; legal anomalies never make a verdict invalid.
        subject: the subject of the anomaly, e.g. ``log-0/3@1042`` or ``epoch 7``.
        time_ns: when it became visible, on the history's clock.
        witness: indices into the history of the operations that show it, as few as possible.
        explanation: the proof in plain sentences, one per line.
        licence: the event that permits it, if any.
    """

    id: str
    summary: str
    guarantee: str
    source: str
    illegal: bool = True
    subject: str | None = None
    time_ns: int | None = None
    witness: tuple[int, ...] = ()
    explanation: tuple[str, ...] = ()
    licence: str | None = None


class OpenAnomaly(NamedTuple):
    """A found anomaly that an event may permit or not: nothing but that is unknown about it.

    Attributes:
        id: its id.
        doubt: the reason why it is unknown; several anomalies may have the same.
    """

    id: str
    doubt: str


class Assumption(msgspec.Struct, frozen=True):
    """A condition without which a verdict means nothing.

    Attributes:
        name: stable name, e.g. ``fault-held``.
        met: whether the history shows it.
        expected: the required value, with its unit.
        observed: the observed value, with its unit.
    """

    name: str
    met: bool
    expected: str
    observed: str


class CheckerResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Result of one checker.

    Attributes:
        checker: its name.
        validity: invalid iff an illegal anomaly was found; unknown iff the checker could not decide; not
            exercised iff the history has nothing that the checker judges.
        counts: exact number of anomalies per id, legal ones included.
        anomalies: at most `EXAMPLES_PER_ANOMALY` of each id, in order of time.
        assumptions: conditions that it tested.
        figures: measured numbers (sizes, rates, durations), units last in the names.
        unknown_because: what it could not decide; an invalid result may have it too.
        tallies: numbers of anomalies by place, for ids of which not all anomalies are listed.
        epoch_starts: by partition, its leader epochs with their first offsets, if the checker knows them.
        open_anomalies: if nothing is undecided but whether found anomalies are permitted, their ids;
            otherwise empty.
    """

    checker: str
    validity: Validity
    counts: dict[str, int] = {}
    anomalies: tuple[Anomaly, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    figures: dict[str, Any] = {}
    unknown_because: str | None = None
    tallies: tuple[AnomalyTally, ...] = ()
    epoch_starts: dict[str, tuple[tuple[int, int], ...]] = {}
    open_anomalies: tuple[str, ...] = ()

    @property
    def undecided(self) -> bool:
        """Whether it is unknown, or invalid and could not decide everything."""
        if self.validity is not Validity.INVALID:
            return self.validity is Validity.UNKNOWN
        return self.unknown_because is not None or not all(one.met for one in self.assumptions)


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict on a history, and the expectations of its scenario.

    Attributes:
        validity: invalid if any result is invalid; otherwise unknown if any result is unknown or an
            assumption is unmet; otherwise valid.
        results: one result per checker.
        expected: the scenario's expected validity for this version and configuration, if it has one.
        expected_anomalies: ids of anomalies; if invalid is expected, at least one of them must be found; if
            valid is expected, they may be found nevertheless.  Their consequences are among them only if one
            of the others was found.
        as_expected: None if nothing was expected.  If valid is expected, everything must have been decided,
            except whether some of the expected anomalies, which were found, are permitted.
        reasons: the reasons why it is not valid, one sentence each.
    """

    validity: Validity
    results: tuple[CheckerResult, ...]
    expected: Validity | None = None
    expected_anomalies: tuple[str, ...] = ()
    as_expected: bool | None = None
    reasons: tuple[str, ...] = ()


def result_of(
    checker: str,
    anomalies: list[Anomaly],
    *,
    counts: dict[str, int] | None = None,
    tallies: Iterable[AnomalyTally] = (),
    assumptions: tuple[Assumption, ...] = (),
    figures: Mapping[str, object] | None = None,
    unknown_because: str | None = None,
    open_anomalies: Sequence[OpenAnomaly] = (),
    exercised: bool = True,
) -> CheckerResult:
    """Combine a checker's findings in a result; an illegal anomaly outweighs any doubt.

    Args:
        checker: the checker's name.
        anomalies: all findings, or examples if `counts` has the exact numbers.
        counts: exact numbers per id; counted from `anomalies` if absent.
        tallies: numbers by place; counted from `anomalies` if `counts` is absent.
        assumptions: conditions the checker tested.
        figures: measured numbers.
        unknown_because: what it cannot decide.
        open_anomalies: found anomalies of which it cannot decide whether they are permitted; their reasons
            must not be in `unknown_because`.
        exercised: whether the history has anything that the checker judges.
    """
    # Illegal anomalies come first, so that permitted ones can't displace them from the list.
    ordered = sorted(anomalies, key=lambda anomaly: not anomaly.illegal)
    exact = Counter(anomaly.id for anomaly in ordered) if counts is None else counts
    examples = _examples(ordered)
    crowded = [name for name, count in exact.items() if count > len(examples.get(name, ()))]
    if counts is None:
        tallies = _tallied(checker, [anomaly for anomaly in anomalies if anomaly.id in crowded])
    undecided = unknown_because is not None or not all(assumption.met for assumption in assumptions)
    doubts = dict.fromkeys([*filter(None, [unknown_because]), *(one.doubt for one in open_anomalies)])
    validity = _validity(anomalies, undecided=undecided or bool(open_anomalies), exercised=exercised)
    listed = sorted((a for kept in examples.values() for a in kept), key=lambda a: (a.time_ns or 0, a.id))
    return CheckerResult(
        checker=checker,
        validity=validity,
        counts=dict(sorted(exact.items())),
        anomalies=tuple(listed),
        assumptions=assumptions,
        figures=dict(figures or {}),
        unknown_because="; ".join(doubts) or None,
        tallies=placed(tallies, crowded),
        open_anomalies=() if undecided else tuple(sorted({one.id for one in open_anomalies})),
    )


def _examples(anomalies: Iterable[Anomaly]) -> dict[str, list[Anomaly]]:
    """The first anomalies of each id."""
    examples: dict[str, list[Anomaly]] = {}
    for anomaly in anomalies:
        kept = examples.setdefault(anomaly.id, [])
        if len(kept) < EXAMPLES_PER_ANOMALY:
            kept.append(anomaly)
    return examples


def _validity(anomalies: Iterable[Anomaly], *, undecided: bool, exercised: bool) -> Validity:
    if any(anomaly.illegal for anomaly in anomalies):
        return Validity.INVALID
    if undecided:
        return Validity.UNKNOWN
    return Validity.VALID if exercised else Validity.NOT_EXERCISED


def _tallied(checker: str, anomalies: Iterable[Anomaly]) -> Iterator[AnomalyTally]:
    alike: dict[tuple[str, str, int | None, bool], list[tuple[int, int]]] = {}
    for anomaly in anomalies:
        place = place_of(anomaly.subject, checker)
        key = (anomaly.id, place.name, place.epoch, anomaly.illegal)
        time_ns, offset = (-1 if one is None else one for one in (anomaly.time_ns, place.offset))
        alike.setdefault(key, []).append((time_ns, offset))
    for (identity, name, epoch, illegal), rows in alike.items():
        times_ns, offsets = np.array(rows, dtype=np.int64).T
        yield from tallied(identity, name, times_ns, offsets, illegal=illegal, epoch=epoch)
