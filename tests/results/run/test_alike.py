"""Causes that are alike at several places are listed once; those that state where records are stand alone."""

from pathlib import Path

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.run.alike import alike
from results.run.causes import causes_of
from results.run.issue import render_issue
from results.run.junit import explained
from results.run.text import closing_text, expectation, unexpected

FOLDER = Path("runs/smoke/partition/20261120T215657Z-7")


def stuck(place: str, *, illegal: bool = True) -> Anomaly:
    summary = f"{place} had no leader 60 s after healing"
    return Anomaly("not-recovered", summary, "g", "s", subject=place, illegal=illegal)


def verdict_of(*found: Anomaly, expected: tuple[str, ...] = (), as_expected: bool = False) -> Verdict:
    results = (result_of("recovery", list(found)),)
    return Verdict(Validity.INVALID, results, Validity.INVALID, expected, as_expected=as_expected)


def test_places_with_the_same_words_are_one_line() -> None:
    verdict = verdict_of(*(stuck(f"log-0/{number}") for number in range(6)), stuck("log-1/0"))
    (group,) = alike(causes_of(verdict))
    assert group.line() == ("7 places alike (log-0/0, log-0/1, log-0/2, log-0/3 and 3 more): 7 not-recovered")
    text = closing_text(FOLDER, verdict)
    assert text.count("not-recovered") == 1
    assert "log-0/0 had no leader 60 s after healing" in text
    assert render_issue(FOLDER, verdict, None).count("### ") == 1


def test_two_places_have_both_names_and_legal_ones_say_so() -> None:
    (group,) = alike(causes_of(verdict_of(stuck("n1", illegal=False), stuck("n2", illegal=False))))
    assert group.line() == "2 places alike (n1, n2): 2 not-recovered (legal)"


def test_other_words_other_kinds_and_offsets_stand_alone() -> None:
    found = (
        stuck("log-0/0"),
        Anomaly("not-recovered", "log-0/1 had no ISR", "g", "s", subject="log-0/1"),
        Anomaly("lost-write", "log-0/2 had no leader 60 s after healing", "g", "s", subject="log-0/2"),
        Anomaly("lost-write", "lost", "g", "s", subject="log-0/2@7"),
        Anomaly("lost-write", "lost", "g", "s", subject="log-0/3@7"),
        Anomaly("lost-write", "7", "g", "s", subject="n1"),
        Anomaly("lost-write", "8", "g", "s", subject="n2"),
    )
    groups = alike(causes_of(verdict_of(*found)))
    assert [len(group.causes) for group in groups] == [1] * 7
    assert {group.line() for group in groups} >= {
        "log-0/2, offset 7: 1 lost-write",
        "log-0/0: 1 not-recovered",
    }


def test_junit_has_them_once() -> None:
    verdict = verdict_of(*(stuck(f"log-0/{number}") for number in range(3)))
    assert explained(verdict.results[0], verdict) == (
        "3 places alike (log-0/0, log-0/1, log-0/2): 3 not-recovered",
        "  not-recovered: log-0/0 had no leader 60 s after healing",
        "    guarantee: g (s)",
    )


def test_what_was_not_expected_is_named() -> None:
    found = (stuck("n1"), Anomaly("lost-write", "lost", "g", "s"), Anomaly("allowed", "x", "g", "s"))
    verdict = verdict_of(*found, expected=("allowed", "other"))
    assert unexpected(verdict) == ("lost-write", "not-recovered")
    assert expectation(verdict) == "invalid with allowed or other was expected, not lost-write, not-recovered"
    assert unexpected(verdict_of(*found, expected=("allowed",), as_expected=True)) == ()
    assert unexpected(verdict_of(*found)) == ()
