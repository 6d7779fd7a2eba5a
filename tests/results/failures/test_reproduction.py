"""Signatures, and how often they come back."""

import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.failures.reproduction import (
    Attempt,
    Signature,
    came_back,
    rate_of,
    reproduction_of,
    signature_of,
)
from results.run.wording import normalised

LOST = Anomaly("lost-write", "17 records of log-0/3 are lost.", "g", "s", time_ns=9)
ZOMBIE = Anomaly("zombie-leader", "c3 led for 23225 ms.", "g", "s", time_ns=5)
LEGAL = Anomaly("unclean-loss", "3 records went.", "g", "s", illegal=False, time_ns=1)


def test_a_signature_is_what_is_illegal_and_the_first_sentence() -> None:
    verdict = Verdict(Validity.INVALID, (result_of("log", [LOST, LEGAL]), result_of("quorum", [ZOMBIE])))
    found = signature_of(verdict)
    assert found == Signature(
        Validity.INVALID, ("log/lost-write", "quorum/zombie-leader"), "c# led for # ms."
    )
    assert found.text() == "log/lost-write, quorum/zombie-leader"


def test_a_verdict_without_anomalies_is_itself_what_may_come_back() -> None:
    found = signature_of(Verdict(Validity.VALID, (result_of("log", [LEGAL]),)))
    assert found == Signature(Validity.VALID)
    assert found.text() == "the verdict valid"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c3 led epoch 1 for 23,225 ms; 4.5 s are allowed.", "c# led epoch # for # ms; # s are allowed."),
        ("The move to [3, 1, 4] of log-0/5 is lost.", "The move to [#] of log-#/# is lost."),
        ("topic aCeglyogQQ65ibzSlFRGWQ went", "topic # went"),
        ("nothing-that-changes_here is-removed", "nothing-that-changes_here is-removed"),
    ],
)
def test_what_differs_from_run_to_run_is_taken_out(text: str, expected: str) -> None:
    assert normalised(text) == expected


def test_more_than_was_wanted_is_enough_and_less_is_not() -> None:
    wanted = Signature(Validity.INVALID, ("a/1", "b/2"))
    assert came_back(wanted, Signature(Validity.INVALID, ("a/1", "b/2", "c/3")))
    assert not came_back(wanted, Signature(Validity.INVALID, ("a/1",)))
    assert not came_back(Signature(Validity.VALID), Signature(Validity.UNKNOWN))
    assert not came_back(Signature(Validity.VALID), wanted)


def attempt(number: int, validity: Validity | None, *anomalies: str) -> Attempt:
    return Attempt(number=number, found=None if validity is None else Signature(validity, anomalies, "s"))


def test_unknown_and_failed_runs_decide_nothing() -> None:
    wanted = Signature(Validity.INVALID, ("a/1",), "s")
    attempts = [
        attempt(1, Validity.INVALID, "a/1"),
        attempt(2, Validity.VALID),
        attempt(3, Validity.UNKNOWN),
        attempt(4, None),
    ]
    found = reproduction_of(wanted, attempts)
    assert (found.rate.count, found.rate.of, found.same_summary) == (1, 2, 1)
    assert found.counts == {"valid": 1, "invalid": 1, "unknown": 1, "failed": 1}


def test_where_the_verdict_was_unknown_an_unknown_one_decides() -> None:
    found = reproduction_of(Signature(Validity.UNKNOWN), [attempt(1, Validity.UNKNOWN)])
    assert (found.rate.count, found.rate.of) == (1, 1)


def test_a_share_is_shown_with_its_interval() -> None:
    assert rate_of(3, 5).text() == "3 of 5 (23 to 88 %)"
    assert rate_of(0, 0).text() == "0 of 0 (0 to 100 %)"
