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
        as_expected=as_expected(
            Findings(validity, found, open_ids(results), undecided=any(one.undecided for one in results)),
            expected,
            expected_anomalies,
        ),
        reasons=_in_order(reason for result in results for reason in _reasons_of(result)),
    )


class _Reason(NamedTuple):
    """Why a result is not valid, and its rank among the reasons of a verdict."""

    sentence: str
    rank: int


_ANOMALY, _OF_HARNESS, _DOUBT = range(3)


def _in_order(reasons: Iterable[_Reason]) -> tuple[str, ...]:
    """Reasons of a verdict: anomalies, then failures of the harness, because they cause most doubts."""
    return tuple(reason.sentence for reason in sorted(reasons, key=lambda reason: reason.rank))


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
    """Ids of the anomalies that may be permitted or not, if nothing else is undecided; otherwise none."""
    undecided = [result for result in results if result.undecided]
    if not all(result.open_anomalies for result in undecided):
        return frozenset()
    return frozenset(name for result in undecided for name in result.open_anomalies)


def accepted_with(
    found: frozenset[str], anomalies: tuple[str, ...], consequences: tuple[str, ...]
) -> tuple[str, ...]:
    """The ids that a run with some anomalies may have: consequences only together with an expected cause."""
    return anomalies if found.isdisjoint(anomalies) else anomalies + consequences


class Findings(NamedTuple):
    """What all checkers found, as far as a verdict is compared with an expectation.

    Attributes:
        validity: of the verdict.
        illegal: ids of the illegal anomalies.
        left_open: `open_ids`.
        undecided: whether a checker could not decide something.
    """

    validity: Validity
    illegal: frozenset[str] = frozenset()
    left_open: frozenset[str] = frozenset()
    undecided: bool = False

    def accepted_by(self, anomalies: Iterable[str]) -> bool:
        """Whether it is invalid, and all its illegal anomalies are among some."""
        return self.validity is Validity.INVALID and bool(self.illegal) and self.illegal <= set(anomalies)


def accepted(verdict: Verdict) -> bool:
    """Whether a verdict is invalid, and the scenario expects all its illegal anomalies."""
    found = Findings(verdict.validity, illegal_ids(verdict.results))
    return found.accepted_by(verdict.expected_anomalies)


def as_expected(found: Findings, expected: Validity | None, anomalies: Iterable[str]) -> bool | None:
    """Whether a verdict is what a scenario expected; None if it expected nothing.

    If invalid is expected, at least one of the expected anomalies must be found, and no other illegal one.
    If another verdict is expected, the expected anomalies may be found, but no other illegal one.
    If valid is expected, whatever is undecided must be whether expected anomalies are permitted: then both
    answers are as expected.  Otherwise a defect may be there that no checker could see.
    """
    if expected is None:
        return None
    if found.validity is Validity.INVALID and not found.accepted_by(anomalies):
        return False
    if expected is Validity.VALID and found.undecided:
        return bool(found.left_open) and found.left_open <= set(anomalies)
    return found.validity in {expected, Validity.INVALID}


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
    yield from (_Reason(sentence, _ANOMALY) for sentence in anomaly_reasons(result))
    if result.unknown_because is not None:
        yield _Reason(f"{result.checker}: {result.unknown_because}.", _DOUBT)
    for unmet in result.assumptions:
        if not unmet.met:
            sentence = f"{result.checker}: {unmet.name}: {unmet.expected}; found {unmet.observed}."
            yield _Reason(sentence, _OF_HARNESS if unmet.name == LASTED else _DOUBT)


def anomaly_reasons(result: CheckerResult) -> Iterator[str]:
    """A sentence for each id of the anomalies that make a result invalid."""
    summaries: dict[str, str] = {}
    for anomaly in result.anomalies:
        if anomaly.illegal:
            summaries.setdefault(anomaly.id, anomaly.summary)
    for name, summary in summaries.items():
        yield f"{result.checker}: {result.counts[name]} × {name}, first: {summary}"  # noqa: RUF001 - a count
