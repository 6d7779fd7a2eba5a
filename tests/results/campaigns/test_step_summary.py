"""The step summary: Kafka's words for what happened, and never more than GitHub takes."""

from pathlib import Path

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.campaigns.step_summary import (
    BYTES_MAX,
    ENVIRONMENT,
    CiOutcome,
    Skip,
    append_blocks,
    append_step_summary,
    render_step_summary,
    sorted_out,
)
from results.campaigns.summary import Outcome, RunOutcome, judged
from tests.results.story import IDENTITY

FAILED = RunOutcome(folder="seed 2", outcome=Outcome.FAILED, reasons=("no <engine> | here",))


def run(validity: Validity, *, seed: int = 7, as_expected: bool | None = None) -> RunOutcome:
    found = [Anomaly("zombie-leader", "n1", "g", "s")] if validity is Validity.INVALID else []
    reasons = () if validity is Validity.VALID else (f"quorum: {validity}",)
    verdict = Verdict(validity, (result_of("quorum", found),), as_expected=as_expected, reasons=reasons)
    again = f"krucible run smoke/partition --seed {seed}"
    return judged(
        "20261120T220001Z-1", verdict, msgspec.structs.replace(IDENTITY, seed=seed, reproduce=again)
    )


GREEN, RED = run(Validity.VALID, as_expected=True), run(Validity.INVALID, as_expected=False)
DOUBT = run(Validity.UNKNOWN, as_expected=False)
KNOWN = run(Validity.INVALID, as_expected=True)
PERHAPS = msgspec.structs.replace(run(Validity.UNKNOWN, as_expected=True), open_anomalies=("lost-write",))
NOT_SHOWN = run(Validity.VALID, as_expected=False)


@pytest.mark.parametrize(
    ("runs", "word"),
    [
        ([GREEN, GREEN], CiOutcome.PASSED),
        ([run(Validity.VALID)], CiOutcome.PASSED),
        ([RED], CiOutcome.FAILED),
        ([DOUBT, DOUBT], CiOutcome.FAILED),
        ([run(Validity.UNKNOWN)], CiOutcome.FAILED),
        ([NOT_SHOWN], CiOutcome.FAILED),
        ([FAILED], CiOutcome.FAILED),
        ([GREEN, RED], CiOutcome.FLAKY),
        ([DOUBT, GREEN], CiOutcome.FLAKY),
        ([RED, RED, GREEN], CiOutcome.FLAKY),
        ([KNOWN, KNOWN], CiOutcome.QUARANTINED),
        ([KNOWN, RED], CiOutcome.FAILED),
        ([PERHAPS], CiOutcome.QUARANTINED),
        ([PERHAPS, GREEN], CiOutcome.FLAKY),
    ],
)
def test_words_are_kafkas(runs: list[RunOutcome], word: CiOutcome) -> None:
    (line,) = sorted_out(runs)
    assert line.word is word


def test_another_seed_is_another_test_and_no_flake() -> None:
    lines = sorted_out([GREEN, run(Validity.INVALID, seed=8, as_expected=False)])
    assert [line.word for line in lines] == [CiOutcome.PASSED, CiOutcome.FAILED]


def test_what_needs_a_look_comes_first_with_the_line_that_runs_it_again() -> None:
    other = run(Validity.VALID, seed=8, as_expected=True)
    page = render_step_summary(
        "nightly", [other, GREEN, RED, FAILED], [Skip("kips/x", "Kafka 3.6.2 is older | than 3.9.0")]
    )
    assert page.startswith(
        "## nightly\n\n**❌ 1 Failed · ⚠️ 1 Flaky · 🙈 1 Skipped · ✅ 1 Passed** (4 runs)\n"
    )
    places = [page.index(f"### {mark}") for mark in ("❌ Failed", "⚠️ Flaky", "🙈 Skipped")]
    assert places == sorted(places)
    assert page.index("<details>") > places[-1]
    assert "- **smoke/partition on Kafka 4.3.1, seed 7**, 1 of 2 passed" in page
    assert "again: `krucible run smoke/partition --seed 7`" in page
    assert "no \\<engine\\> \\| here" in page
    assert "    - quorum: 1 zombie-leader\n" in page
    assert "| `kips/x` | Kafka 3.6.2 is older \\| than 3.9.0 |" in page


def test_a_bug_that_was_to_show_and_did_not_says_so() -> None:
    assert "an anomaly was expected, and none was found" in render_step_summary("x", [NOT_SHOWN])


def test_what_is_red_as_expected_is_listed_but_needs_no_look() -> None:
    page = render_step_summary("x", [KNOWN])
    assert "😷 Quarantined: 1 line" in page
    assert "`zombie-leader`" in page
    assert "### " not in page


def test_what_is_open_is_named_as_such() -> None:
    assert "perhaps `lost-write`" in render_step_summary("x", [PERHAPS])


def test_nothing_at_all() -> None:
    assert "**Nothing was run** (0 runs)" in render_step_summary("x", [])


def test_too_much_is_cut_with_a_note_and_fits_to_the_byte() -> None:
    reasons = ("☃" * 300,) * 3
    runs = [
        msgspec.structs.replace(run(Validity.INVALID, seed=seed, as_expected=False), reasons=reasons)
        for seed in range(2_000)
    ]
    for limit in (BYTES_MAX, 20_000):
        page = render_step_summary("x", runs, limit_bytes=limit)
        assert limit // 2 < len(page.encode()) <= limit
        assert "**Cut here**: " in page
    assert render_step_summary("x", runs, limit_bytes=10) == ""


def test_thousands_of_green_runs_are_counted_and_some_are_listed() -> None:
    page = render_step_summary("x", [run(Validity.VALID, seed=seed) for seed in range(5_000)])
    assert "And 4,800 more." in page
    assert len(page.encode()) < 20_000


def test_it_is_appended_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert append_step_summary("x", [GREEN]) is None
    target = tmp_path / "page.md"
    monkeypatch.setenv(ENVIRONMENT, str(target))
    assert append_step_summary("first", [GREEN]) == target
    append_step_summary("second", [RED])
    assert target.read_text().index("## first") < target.read_text().index("## second")


def test_what_others_wrote_into_the_same_step_counts(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    target.write_text("x" * (BYTES_MAX - 2_000))
    append_step_summary("x", [run(Validity.INVALID, seed=seed) for seed in range(500)], path=target)
    assert "**Cut here**" in target.read_text()
    assert target.stat().st_size <= BYTES_MAX


def test_any_page_is_appended_as_long_as_there_is_room(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    append_blocks(["# A", "b \ud800"], target, "the artifact")
    assert target.read_text() == "# A\n\nb \\ud800\n\n"
    append_blocks(["# C", *["☃" * 1_000] * 400], target, "the artifact")
    assert target.stat().st_size <= BYTES_MAX
    assert target.read_text().endswith("of a step. All of it: the artifact.\n\n")
    assert target.read_text().startswith("# A\n\nb")
