"""Illegal anomalies: scenario, frequency, versions, and whether they are new."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from checkers.verdict.verdict import Anomaly
from results.qualification.inference import share_interval
from results.qualification.records import KnownAnomaly, OtherRun, QualificationRole, QualificationRun, of_role


class AnomalyExplanation(StrEnum):
    """The explanation of an anomaly of the candidate, from the most severe."""

    UNEXPLAINED = "unexplained"
    """Neither the baseline nor a known anomaly explains it: a regression until shown otherwise."""
    DOUBTFUL = "perhaps known"
    """It has the name of a known anomaly, but another scenario: a person has to decide."""
    ON_BASELINE = "on the baseline too"
    EXPECTED = "expected"
    """The scenario expects it of this version."""
    GONE = "on the baseline only"


class CandidateAnomaly(msgspec.Struct, frozen=True, kw_only=True):
    """One illegal anomaly in one scenario and mode.

    Attributes:
        id: id of the anomaly.
        scenario: name of the scenario.
        mode: mode of the cluster.
        standing: the explanation.
        because: the explanation as text.
        candidate: number of the candidate's valid and invalid runs with it.
        candidate_of: number of the candidate's valid and invalid runs.
        low: lower end of the interval of that share.
        high: upper end.
        baseline: number of the baseline's valid and invalid runs with it.
        baseline_of: number of the baseline's valid and invalid runs.
        first_seen: the oldest version in the store with it in this scenario.
        seen: all versions with it.
        tried: all versions on which the scenario was run.
        example: an example of the candidate, else of the baseline.
        folder: folder of the run with the example.
        command: command that repeats that run.
    """

    id: str
    scenario: str
    mode: str
    standing: AnomalyExplanation
    because: str
    candidate: int
    candidate_of: int
    low: float
    high: float
    baseline: int
    baseline_of: int
    first_seen: str
    seen: tuple[str, ...]
    tried: tuple[str, ...]
    example: Anomaly
    folder: str
    command: str


class Permitted(msgspec.Struct, frozen=True):
    """An anomaly that was found where it is permitted, with the number of runs of each side."""

    id: str
    candidate: int
    baseline: int


class _AnomalyKey(NamedTuple):
    id: str
    scenario: str
    mode: str


def found_in(
    runs: Sequence[QualificationRun],
    elsewhere: Sequence[OtherRun] = (),
    on_record: Sequence[KnownAnomaly] = (),
) -> tuple[CandidateAnomaly, ...]:
    """All illegal anomalies, the most severe explanation first.

    Args:
        runs: runs of the matrix.
        elsewhere: other runs of the store; runs of the baseline's version also explain an anomaly, unless
            their build of Kafka differs from the baseline's.
        on_record: known anomalies of the candidate's version.
    """
    seen = [_found(place, runs, elsewhere, on_record) for place in _places(runs)]
    gravity = list(AnomalyExplanation)
    return tuple(sorted(seen, key=lambda one: (gravity.index(one.standing), one.id, one.scenario, one.mode)))


def permitted_in(runs: Sequence[QualificationRun]) -> tuple[Permitted, ...]:
    """All anomalies that were found where they are permitted, by name."""
    made = [(run, run.outcome) for run in runs if run.outcome]
    legal = [(run, {*one.anomalies} - {*one.illegal} - {*one.open_anomalies}) for run, one in made]
    names = sorted({name for _run, seen in legal for name in seen})
    sides = (QualificationRole.CANDIDATE, QualificationRole.BASELINE)
    return tuple(
        Permitted(
            name, *(sum(name in seen for run, seen in legal if run.planned.role is side) for side in sides)
        )
        for name in names
    )


def version_order(version: str) -> tuple[int, ...]:
    """Sort key of versions: their numbers."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version))


def _places(runs: Iterable[QualificationRun]) -> list[_AnomalyKey]:
    return sorted({_AnomalyKey(a.id, r.planned.scenario, r.planned.mode) for r in runs for a in r.sightings})


def _found(
    place: _AnomalyKey,
    runs: Sequence[QualificationRun],
    elsewhere: Sequence[OtherRun],
    on_record: Sequence[KnownAnomaly],
) -> CandidateAnomaly:
    here = [r for r in runs if (r.planned.scenario, r.planned.mode) == (place.scenario, place.mode)]
    sides = [
        [run for run in of_role(here, role) if run.judged and not _may_show(run, place.id)]
        for role in (QualificationRole.CANDIDATE, QualificationRole.BASELINE)
    ]
    counts = [sum(_shows(run, place.id) for run in side) for side in sides]
    standing, because = _standing(place, runs, elsewhere, on_record)
    shown = next(run for side in (*sides, here) for run in side if _shows(run, place.id))
    versions = list(_versions(place, runs, elsewhere))
    seen = _sorted(version for version, shows in versions if shows)
    interval = share_interval(counts[0], len(sides[0]))
    return CandidateAnomaly(
        id=place.id,
        scenario=place.scenario,
        mode=place.mode,
        standing=standing,
        because=because,
        candidate=counts[0],
        candidate_of=len(sides[0]),
        low=round(interval.low, 4),
        high=round(interval.high, 4),
        baseline=counts[1],
        baseline_of=len(sides[1]),
        first_seen=seen[0] if seen else "",
        seen=seen,
        tried=_sorted(version for version, _shows in versions),
        example=next(a for a in shown.sightings if a.id == place.id),
        folder=shown.outcome.folder if shown.outcome else "",
        command=shown.identity.reproduce if shown.identity else shown.planned.command,
    )


def _shows(run: QualificationRun, anomaly_id: str) -> bool:
    return any(anomaly.id == anomaly_id for anomaly in run.sightings)


def _may_show(run: QualificationRun, anomaly_id: str) -> bool:
    """Whether it is unknown of a run without an illegal anomaly of this name whether it has one."""
    left_open = run.outcome.open_anomalies if run.outcome else ()
    return anomaly_id in left_open and not _shows(run, anomaly_id)


def _standing(
    place: _AnomalyKey,
    runs: Sequence[QualificationRun],
    elsewhere: Sequence[OtherRun],
    on_record: Sequence[KnownAnomaly],
) -> tuple[AnomalyExplanation, str]:
    """The most certain explanation of an anomaly, and the explanation as text."""
    alike = [run for run in runs if run.planned.scenario == place.scenario and _shows(run, place.id)]
    mine = [run for run in of_role(alike, QualificationRole.CANDIDATE) if run.planned.mode == place.mode]
    if not mine:
        return AnomalyExplanation.GONE, "seen on the baseline, not on the candidate"
    known = [one for one in on_record if one.id == place.id]
    names = ", ".join(dict.fromkeys(f"{one.ticket} ({one.scenario})" for one in known))
    record = f"anomalies of this name are on record as {names}"
    if all(run.outcome and (run.outcome.as_expected or run.outcome.undecided) for run in mine):
        recorded = next((f"{one.ticket}: {one.why}" for one in known if one.scenario == place.scenario), "")
        return AnomalyExplanation.EXPECTED, recorded or "the scenario expects it of this version"
    if theirs := len(of_role(alike, QualificationRole.BASELINE)):
        because = f"the baseline has it in {theirs} of this scenario's runs"
        return AnomalyExplanation.ON_BASELINE, f"{because}; {record}" if known else because
    baseline = of_role(runs, QualificationRole.BASELINE)
    version = _version(baseline)
    contents = {run.content for run in baseline if run.content}
    theirs_too = (one for one in elsewhere if _is(one, place.scenario, version, contents))
    if version and any(place.id in one.illegal for one in theirs_too):
        because = f"other runs of the store have it in this scenario on {version}"
        return AnomalyExplanation.ON_BASELINE, f"{because}; {record}" if known else because
    if known:
        return AnomalyExplanation.DOUBTFUL, record
    return AnomalyExplanation.UNEXPLAINED, "neither on the baseline nor on record"


def _is(run: OtherRun, scenario: str, version: str, contents: Collection[str]) -> bool:
    """Whether a run has the same scenario and the same Kafka; another build may have the same version."""
    alike = not run.content or not contents or run.content in contents
    return run.scenario == scenario and run.kafka_version == version and alike


def _version(runs: Iterable[QualificationRun]) -> str:
    return next((run.identity.kafka_version for run in runs if run.identity), "")


def _versions(
    place: _AnomalyKey, runs: Sequence[QualificationRun], elsewhere: Sequence[OtherRun]
) -> Iterator[tuple[str, bool]]:
    """For each run of the scenario, its version and whether it has the anomaly."""
    for run in runs:
        if run.identity and run.judged and run.planned.scenario == place.scenario:
            yield run.identity.kafka_version, _shows(run, place.id)
    for other in elsewhere:
        if other.scenario == place.scenario:
            yield other.kafka_version, place.id in other.illegal


def _sorted(versions: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(versions), key=version_order))
