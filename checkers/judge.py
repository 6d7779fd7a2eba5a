"""The judge: runs every checker on a history and combines the results in one verdict."""

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers import groups, registers, share_groups
from checkers.administration import descriptions, elections, features, reassignments
from checkers.groups import erasures
from checkers.history.operations import History
from checkers.history.runner import LASTED
from checkers.history.setup import Setup, setup_of
from checkers.kraft import metadata, quorum
from checkers.logs import listed, log, partitions
from checkers.logs.replicas import judging as replicas
from checkers.runs import assumptions, availability, nodes, recovery, starts
from checkers.share_groups import dead_letters
from checkers.transactional import client_errors, copying, states, streams, transactions
from checkers.verdict.entry import Checker
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.needs import EVERYTHING, Needs
from checkers.verdict.verdict import CheckerResult, Validity, Verdict, result_of
from checkers.verdict.withholding import missing_parts_of, withheld

ENTRIES = (
    log.ENTRY,
    listed.ENTRY,
    transactions.ENTRY,
    descriptions.ENTRY,
    copying.ENTRY,
    streams.ENTRY,
    states.ENTRY,
    groups.ENTRY,
    share_groups.ENTRY,
    dead_letters.ENTRY,
    client_errors.ENTRY,
    registers.ENTRY,
    erasures.ENTRY,
    metadata.ENTRY,
    quorum.ENTRY,
    partitions.ENTRY,
    elections.ENTRY,
    reassignments.ENTRY,
    features.ENTRY,
    recovery.ENTRY,
    availability.ENTRY,
    replicas.ENTRY,
    starts.ENTRY,
    nodes.ENTRY,
    assumptions.ENTRY,
)
"""All checkers with their anomalies, in the order in which a verdict lists them."""
CHECKERS: Mapping[str, Checker] = {entry.name: entry.check for entry in ENTRIES}
"""All checkers by name; each is a pure function of the history."""
NEEDS: Mapping[str, Needs] = {entry.name: entry.needs for entry in ENTRIES}
"""What all checkers need, by name."""


def judge(history: History) -> Verdict:
    """Judge a history by all checkers.

    A checker that raises makes its result unknown, with the error and its place in the code.  A verdict is
    invalid if any result is invalid, otherwise unknown if any result is unknown, otherwise valid.
    """
    return judge_by(history, CHECKERS)


def judge_by(history: History, checkers: Mapping[str, Checker]) -> Verdict:
    """Judge a history by some checkers, as `judge` does by all."""
    results = [result_by(name, checker, history) for name, checker in checkers.items()]
    return verdict_of(results, readable_setup(history))


def verdict_of(results: Sequence[CheckerResult], setup: Setup | None) -> Verdict:
    """Combine the results of all checkers in one verdict, with what the setup expected."""
    validity = combined(result.validity for result in results)
    expected = None if setup is None else setup.expected
    found = illegal_ids(results)
    expected_anomalies: tuple[str, ...] = ()
    if setup is not None:
        expected_anomalies = accepted_with(found, setup.expected_anomalies, setup.expected_consequences)
    return Verdict(
        validity=validity,
        results=tuple(results),
        expected=expected,
        expected_anomalies=expected_anomalies,
        as_expected=as_expected(validity, found, expected, expected_anomalies, open_ids(results)),
        reasons=_in_order([reason for result in results for reason in _reasons_of(result)], validity),
    )


class _Reason(NamedTuple):
    """Why a result is not valid, and whether that is a failure of the harness."""

    sentence: str
    of_harness: bool = False


def _in_order(reasons: Sequence[_Reason], validity: Validity) -> tuple[str, ...]:
    """Reasons of a verdict; if it is unknown, failures of the harness come first: they cause most others."""
    if validity is Validity.UNKNOWN:
        reasons = sorted(reasons, key=lambda reason: not reason.of_harness)
    return tuple(reason.sentence for reason in reasons)


def combined(validities: Iterable[Validity]) -> Validity:
    """Combine validities: invalid outweighs unknown, and unknown outweighs valid; without any, unknown.

    Checkers that were not exercised are left out.
    """
    found = set(validities) - {Validity.NOT_EXERCISED}
    if Validity.INVALID in found:
        return Validity.INVALID
    return Validity.VALID if found == {Validity.VALID} else Validity.UNKNOWN


def illegal_ids(results: Iterable[CheckerResult]) -> frozenset[str]:
    """Ids of all anomalies that break a guarantee."""
    return frozenset(a.id for result in results for a in result.anomalies if a.illegal)


def open_ids(results: Iterable[CheckerResult]) -> frozenset[str]:
    """Ids of the anomalies that may be permitted or not, if nothing else is unknown; otherwise none."""
    unknown = [result for result in results if result.validity is Validity.UNKNOWN]
    if not all(result.open_anomalies for result in unknown):
        return frozenset()
    return frozenset(name for result in unknown for name in result.open_anomalies)


def accepted_with(
    found: frozenset[str], anomalies: tuple[str, ...], consequences: tuple[str, ...]
) -> tuple[str, ...]:
    """The ids that a run with some anomalies may have: consequences only together with an expected cause."""
    return anomalies if found.isdisjoint(anomalies) else anomalies + consequences


def as_expected(
    validity: Validity,
    found: frozenset[str],
    expected: Validity | None,
    anomalies: Iterable[str],
    left_open: frozenset[str] = frozenset(),
) -> bool | None:
    """Whether a verdict is what a scenario expected; None if it expected nothing.

    If invalid is expected, at least one of the expected anomalies must be found, and no other illegal one.
    If another verdict is expected, the expected anomalies may be found, but no other illegal one.
    If valid is expected, unknown is too if all of `left_open` (`open_ids`) are expected anomalies: the run
    is valid, or invalid with some of them, and both are as expected.
    """
    if expected is None:
        return None
    if validity is Validity.INVALID:
        return bool(found) and found <= set(anomalies)
    if validity is Validity.UNKNOWN and expected is Validity.VALID:
        return bool(left_open) and left_open <= set(anomalies)
    return validity is expected


def known_anomalies() -> dict[str, AnomalyKind]:
    """Every anomaly that a checker can find, by id, in alphabetical order: its meaning and its source."""
    # If two checkers share an id, the texts of the one that is listed first are used.
    known = {name: kind for entry in reversed(ENTRIES) for name, kind in entry.anomalies.items()}
    return dict(sorted(known.items()))


def result_by(name: str, checker: Checker, history: History) -> CheckerResult:
    """Run one checker; if it raises, the result is unknown, with the error and its place in the code."""
    try:
        return withheld(checker(history), NEEDS.get(name, EVERYTHING), missing_parts_of(history))
    except Exception as error:  # noqa: BLE001 - an error of one checker makes its result unknown; the other results are kept
        return result_of(name, [], unknown_because=f"the checker raised {_described(error)}")


def _described(error: Exception) -> str:
    """Type, message and innermost place of an error, on one line."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text} ({Path(where.filename).name}, line {where.lineno})"


def readable_setup(history: History) -> Setup | None:
    """The setup; None if it can't be read, which the checkers that need it report."""
    try:
        return setup_of(history)
    except msgspec.ValidationError:
        return None


def reasons_of(result: CheckerResult) -> Iterator[str]:
    """Why a result is not valid: a sentence for each illegal anomaly id, doubt and unmet assumption."""
    return (reason.sentence for reason in _reasons_of(result))


def _reasons_of(result: CheckerResult) -> Iterator[_Reason]:
    yield from map(_Reason, anomaly_reasons(result))
    if result.unknown_because is not None:
        yield _Reason(f"{result.checker}: {result.unknown_because}.")
    for unmet in result.assumptions:
        if not unmet.met:
            sentence = f"{result.checker}: {unmet.name}: {unmet.expected}; found {unmet.observed}."
            yield _Reason(sentence, of_harness=unmet.name == LASTED)


def anomaly_reasons(result: CheckerResult) -> Iterator[str]:
    """A sentence for each id of the anomalies that make a result invalid."""
    summaries: dict[str, str] = {}
    for anomaly in result.anomalies:
        if anomaly.illegal:
            summaries.setdefault(anomaly.id, anomaly.summary)
    for name, summary in summaries.items():
        yield f"{result.checker}: {result.counts[name]} × {name}, first: {summary}"  # noqa: RUF001 - a count
