"""Which failures are new: signatures are equal for the same failure, and different for another."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.failures.signatures import (
    BODY_MAX,
    FailureSignature,
    SignatureRuns,
    SignedRun,
    issue_of,
    seen_in,
    signatures_in,
    signed,
)
from results.markup.trackers import Format
from tests.results.story import IDENTITY


def anomaly(
    name: str, summary: str = "it went", subject: str = "log-0/3", *, illegal: bool = True
) -> Anomaly:
    return Anomaly(name, summary, "g", "s", subject=subject, illegal=illegal)


def red(*found: Anomaly, expected: tuple[str, ...] = (), as_expected: bool | None = None) -> Verdict:
    return Verdict(
        Validity.INVALID, (result_of("log", list(found)),), None, expected, as_expected=as_expected
    )


def run(number: int, *names: str, day: int = 1) -> SignedRun:
    """A run of a day with signatures of these anomalies."""
    identity = msgspec.structs.replace(IDENTITY, run=f"r{number}", began_at=f"2026-11-{day:02}T01:00:00Z")
    found = tuple(FailureSignature("log", name, "it went") for name in names)
    return SignedRun(place=f"s/{number}", identity=identity, signatures=found)


def anomalies_seen(seen: tuple[SignatureRuns, ...]) -> list[tuple[str, bool, int]]:
    return [(one.signature.anomaly, one.new, one.before) for one in seen]


def test_numbers_and_names_with_digits_make_no_other_failure() -> None:
    texts = ("17 records of log-0/3 are lost.", "1,204 records of log-11/0 are lost.")
    ids = {found.id for text in texts for found in signatures_in(red(anomaly("lost-write", text)))}
    assert len(ids) == 1


@pytest.mark.parametrize(
    "other", [anomaly("phantom"), anomaly("lost-write", "it came"), anomaly("lost-write", "it went away")]
)
def test_another_anomaly_or_sentence_is_another_failure(other: Anomaly) -> None:
    assert signatures_in(red(anomaly("lost-write"))) != signatures_in(red(other))


def test_another_checker_is_another_failure() -> None:
    found = [FailureSignature(checker, "a", "w") for checker in ("log", "nodes")]
    assert found[0].id != found[1].id


def test_the_id_is_the_same_in_every_process() -> None:
    assert FailureSignature("log", "lost-write", "records of are lost.").id == "e3aa2271f4fb"


def test_a_cause_has_one_signature_of_its_gravest_kind_and_equal_causes_one() -> None:
    found = signatures_in(
        red(
            anomaly("duplicate"),
            anomaly("lost-write"),
            anomaly("lost-write", subject="log-0/4"),
            anomaly("duplicate", subject="log-0/5"),
            anomaly("unclean-loss", illegal=False),
        )
    )
    assert [one.anomaly for one in found] == ["lost-write", "duplicate"]


def test_what_is_expected_has_none() -> None:
    found = (anomaly("lost-write"), anomaly("duplicate"))
    assert signatures_in(red(*found, expected=("lost-write", "duplicate"), as_expected=True)) == ()
    (one,) = signatures_in(red(*found, expected=("lost-write",), as_expected=False))
    assert one.anomaly == "duplicate"
    assert signatures_in(red(*found, expected=("lost-write", "duplicate"), as_expected=False)) == ()


def test_a_bug_that_was_put_into_kafka_has_none() -> None:
    verdict = red(anomaly("lost-write"))
    assert signed("p", IDENTITY, verdict).signatures
    assert not signed("p", msgspec.structs.replace(IDENTITY, seeded_bug="x"), verdict).signatures


def test_new_is_what_no_run_of_the_past_has() -> None:
    past = [run(1, "phantom"), run(2, "phantom", day=3), run(3)]
    now = [run(8, "phantom", "duplicate", day=5), run(7, "lost-write", "phantom", day=4)]
    seen = seen_in(now, past)
    assert anomalies_seen(seen) == [("lost-write", True, 0), ("duplicate", True, 0), ("phantom", False, 2)]
    assert seen[2].runs == ("s/7", "s/8")
    assert seen[2].first_seen == "2026-11-01T01:00:00Z"
    assert seen[0].first_seen == "2026-11-04T01:00:00Z"


def test_a_run_is_no_past_of_itself() -> None:
    """The same night may be looked at twice, and be in the past by then."""
    night = [run(1, "phantom"), run(2, "phantom")]
    assert anomalies_seen(seen_in(night, night)) == [("phantom", True, 0)]
    elsewhere = msgspec.structs.replace(night[0], place="s/elsewhere")
    assert anomalies_seen(seen_in(night, [elsewhere])) == [("phantom", True, 0)], (
        "a part of a store is no past either"
    )
    later = run(1, "phantom", day=2)
    assert anomalies_seen(seen_in(night, [later])) == [("phantom", False, 1)], (
        "another run may have the same id"
    )


@given(
    st.lists(st.sets(st.sampled_from("abcd")), max_size=5),
    st.lists(st.sets(st.sampled_from("abcd")), max_size=5),
)
def test_it_is_the_difference_of_two_sets(now: list[set[str]], past: list[set[str]]) -> None:
    runs = [run(number, *sorted(names)) for number, names in enumerate(now)]
    before = [run(100 + number, *sorted(names)) for number, names in enumerate(past)]
    seen = seen_in(runs, before)
    new = {one.signature.anomaly for one in seen if one.new}
    assert new == set().union(*now) - set().union(*past)
    assert {one.signature.anomaly for one in seen} == set().union(*now)
    assert seen == seen_in(reversed(runs), reversed(before))


def test_an_issue_names_the_signature_and_its_runs() -> None:
    (one,) = seen_in([run(number, "phantom") for number in range(25)], [])
    page = issue_of(one, "# title\n\n## Where\n\nhere\n")
    assert page.startswith("# title\n\n## Where\n\nhere\n\n## Signature `")
    assert f"## Signature `{one.id}`" in page
    assert "- `s/0`\n- `s/1`\n" in page
    assert page.endswith("- and 5 more\n")


def test_an_issue_is_as_long_as_trackers_take() -> None:
    (one,) = seen_in([run(1, "phantom")], [])
    sections = [f"### {number}\n\n{'x' * 20_000}\n\n" for number in range(5)]
    page = issue_of(one, f"# title\n\n## Anomalies\n\n{''.join(sections)}")
    assert len(page) <= BODY_MAX[Format.MARKDOWN]
    assert "### 1\n" in page
    assert "### 2\n" not in page
    assert page.index("The rest is left out") < page.index("## Signature `")
    assert len(issue_of(one, "x" * 100_000)) <= BODY_MAX[Format.MARKDOWN]


def test_an_issue_for_jira_has_its_markup_and_its_limit() -> None:
    (one,) = seen_in([run(1, "phantom")], [])
    sections = [f"h3. {number}\n\n{'x' * 12_000}\n\n" for number in range(5)]
    page = issue_of(one, f"h1. title\n\nh2. Anomalies\n\n{''.join(sections)}", Format.JIRA)
    assert 20_000 < len(page) <= BODY_MAX[Format.JIRA]
    assert ("h3. 1\n" in page, "h3. 2\n" in page) == (True, False)
    assert "see the run's {{issue.md}}." in page
    assert page.endswith(f"\n\nh2. Signature {{{{{one.id}}}}}\n\nIt is new in the store of past runs. "
                         "The runs that have it:\n\n* {{s/1}}\n")  # fmt: skip
    assert ("`" in page, "\n- " in page) == (False, False)
