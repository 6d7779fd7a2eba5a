"""``krucible sensitivity --compare``: pages of measurements from files of outcomes alone, without a store."""

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from harness import cli
from harness.campaigns.sensitivity.identity import bug_digest
from harness.campaigns.sensitivity.pages import measurements_in
from harness.errors import UsageError
from harness.seeded_bugs.catalogue import seeded_bugs
from results.campaigns.summary import Outcome
from results.sensitivity import (
    BugOutcome,
    LeftOut,
    MadeAgain,
    MeasuredBug,
    Sensitivity,
    TimedAnomaly,
    render_comparison,
)
from results.sensitivity.outcomes import MeasurementOptions, Origin, OutcomeLine, encode_outcomes, outcomes_of

ASKED = MeasurementOptions(kafka_version="4.3.1", preset="nightly", budget="2x120", seed=1)
BUG = "min-isr-ignored"


def line(number: int, ending: BugOutcome, bug: str = BUG, digest: str | None = None) -> OutcomeLine:
    known = seeded_bugs().get(bug)
    own = bug_digest(known, ASKED.kafka_version) if known else ""
    return OutcomeLine(
        bug=bug,
        number=number,
        scenario="exploratory/chaos",
        mode="combined",
        command=f"krucible run exploratory/chaos --seed {number} --seeded-bug {bug}",
        ending=ending,
        found=(TimedAnomaly("acked-below-min-isr", 21_000),) if ending is BugOutcome.SEEN else (),
        run_ms=140_000,
        origin=Origin(bug=own if digest is None else digest, commit=f"{number:012}"),
    )


def control(number: int, outcome: Outcome = Outcome.VALID) -> OutcomeLine:
    return OutcomeLine(
        bug=BUG,
        number=number,
        control=True,
        scenario="exploratory/chaos",
        mode="combined",
        command=f"krucible run exploratory/chaos --seed {number}",
        outcome=outcome,
    )


def write(
    file: Path,
    series: str,
    *lines: OutcomeLine,
    asked: MeasurementOptions = ASKED,
    bugs: Iterable[str] = (),
    rerun: Iterable[MadeAgain] = (),
) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(encode_outcomes(outcomes_of(series, asked, lines, bugs, rerun)))
    return file


def only(measurement: Sensitivity, name: str = BUG) -> MeasuredBug:
    return next(bug for bug in measurement.bugs if bug.name == name)


def test_files_of_one_series_are_one_measurement_and_series_come_in_the_order_of_files(
    tmp_path: Path,
) -> None:
    write(tmp_path / "2-after.json", "after", line(1, BugOutcome.SEEN), asked=ASKED)
    write(tmp_path / "1-before.json", "before", line(1, BugOutcome.TRIGGERED), control(1))
    write(tmp_path / "1-before-there.json", "before", line(2, BugOutcome.SEEN), line(1, BugOutcome.SEEN))
    (tmp_path / "notes.txt").write_text("no outcomes")
    before, after = measurements_in([tmp_path])
    assert (before.series, after.series) == ("before", "after")
    # of the file that comes first
    assert [trial.ending for trial in only(before).trials] == [BugOutcome.SEEN]
    assert before.commits == ("000000000001", "000000000002")
    assert [one.outcome for one in before.controls] == [Outcome.VALID]
    assert [one.outcome for one in after.controls] == [None]


def test_what_was_not_run_is_missing_and_a_bug_that_was_seen_needs_no_more(tmp_path: Path) -> None:
    begun = write(tmp_path / "a.json", "a", line(1, BugOutcome.TRIGGERED), bugs=seeded_bugs())
    (measurement,) = measurements_in([begun])
    assert [trial.ending for trial in only(measurement).trials] == [BugOutcome.TRIGGERED, BugOutcome.NOT_RUN]
    assert not only(measurement).finished
    assert len(measurement.bugs) == sum("4.3.1" in bug.versions for bug in seeded_bugs().values())
    assert only(measurement, "any-replica-leads").runs == 0
    (done,) = measurements_in(
        [write(tmp_path / "b.json", "b", line(1, BugOutcome.SEEN), line(2, BugOutcome.SEEN))]
    )
    assert [trial.number for trial in only(done).trials] == [1]


def test_a_measurement_has_the_bugs_that_it_was_to_find_and_no_others(tmp_path: Path) -> None:
    """Files of earlier versions do not name the bugs: those with an outcome are the bugs."""
    gone = line(1, BugOutcome.SEEN, bug="read-skips-one", digest="0" * 12)
    old = write(tmp_path / "1.json", "old", line(1, BugOutcome.SEEN), gone)
    write(tmp_path / "2.json", "held out", line(1, BugOutcome.TRIGGERED, bug="any-replica-leads"))
    write(tmp_path / "2-there.json", "held out", bugs=["retries-appended", "no-such-bug"])
    before, after = measurements_in([tmp_path])
    assert {bug.name: bug.ending for bug in before.bugs} == {
        BUG: BugOutcome.SEEN,
        "read-skips-one": BugOutcome.NOT_RUN,
    }
    assert {bug.name: bug.ending for bug in after.bugs} == {
        "any-replica-leads": BugOutcome.TRIGGERED,
        "retries-appended": BugOutcome.NOT_RUN,
    }
    (alone,) = measurements_in([old])
    assert alone == before
    page = render_comparison([before, after])
    assert (
        "- held out: none of its 2 bugs is in a measurement before; seen in the first run 0 of 1, 0 %" in page
    )
    assert f"| `{BUG}` | seen by acked-below-min-isr, 1 run, 21 s | not tried |" in page
    assert "| `any-replica-leads` | not tried | triggered and not seen, 1 run, 140 s; 1 run missing |" in page
    assert "| not run | 1 | 1 |\n| all bugs of the measurement | 2 | 2 |\n" in page


def test_bugs_whose_runs_were_made_again_are_those_of_all_files(tmp_path: Path) -> None:
    again = [MadeAgain(bug=BUG, why="first"), MadeAgain(bug="read-skips-one", why="x")]
    write(tmp_path / "a.json", "a", line(1, BugOutcome.SEEN), rerun=again[:1])
    write(tmp_path / "b.json", "a", rerun=[again[1], MadeAgain(bug=BUG, why="second")])
    (measurement,) = measurements_in([tmp_path])
    assert measurement.rerun == tuple(again)
    without = (
        "; without runs that were made again after a change for that bug: 0 of 1, 0 % (95 % interval 0-79 %);"
    )
    assert without in render_comparison([measurement])


def test_outcomes_of_a_bug_that_is_another_one_by_now_are_left_out(tmp_path: Path) -> None:
    lines = (
        line(1, BugOutcome.SEEN, digest="0" * 12),
        line(1, BugOutcome.SEEN, bug="no-such-bug"),
        control(1),
    )
    (measurement,) = measurements_in([write(tmp_path / "a.json", "a", *lines)])
    assert only(measurement).ending is BugOutcome.NOT_RUN
    assert measurement.left_out == (
        LeftOut(BUG, 1, control=False, why="the bug's file has changed since"),
        LeftOut("no-such-bug", 1, control=False, why="the catalogue no longer has this bug"),
    )


def test_the_measurement_with_more_runs_says_how_many_there_are(tmp_path: Path) -> None:
    short, long = (msgspec.structs.replace(ASKED, budget=budget) for budget in ("1x120", "3x120"))
    write(tmp_path / "a.json", "s", line(1, BugOutcome.TRIGGERED), asked=short)
    write(tmp_path / "b.json", "s", line(2, BugOutcome.TRIGGERED), asked=long)
    (measurement,) = measurements_in([tmp_path])
    assert measurement.budget == "3x120"
    other = write(tmp_path / "c.json", "s", asked=msgspec.structs.replace(ASKED, seed=2))
    with pytest.raises(UsageError, match="of different measurements") as refused:
        measurements_in([tmp_path])
    assert str(other) in refused.value.got


def test_the_command_writes_both_pages_or_prints_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "in" / "a.json", "before", line(1, BugOutcome.SEEN))
    out, html = tmp_path / "page.md", tmp_path / "page.html"
    compare = ["sensitivity", "--compare", str(tmp_path / "in")]
    assert cli.invoke([*compare, "--out", str(out), "--html", str(html)]) == 0
    assert capsys.readouterr().out == ""
    assert f"| replication | `{BUG}` | seen by acked-below-min-isr, 1 run, 21 s |" in out.read_text()
    assert html.read_text().startswith("<!doctype html>")
    assert cli.invoke(compare) == 0
    assert capsys.readouterr().out == out.read_text()
    assert cli.invoke([*compare, "--json"]) == 0
    assert [one["series"] for one in json.loads(capsys.readouterr().out)] == ["before"]


def test_a_place_without_outcomes_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--compare"], ["--plan", "--outcomes-from"]):
        assert cli.invoke(["sensitivity", *words, str(tmp_path)]) == 64
        output = capsys.readouterr()
        assert output.out == ""
        assert "this folder has no outcomes\n  got:      a folder without files *.json\n" in output.err
        assert f"where:    {tmp_path}\n  next: " in output.err
    assert cli.invoke(["sensitivity", "--compare", str(tmp_path / "nowhere")]) == 64
    assert "there is no such file" in capsys.readouterr().err
