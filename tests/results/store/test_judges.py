"""A verdict's file says which krucible gave it, and texts about a run say so where it did not record it."""

import json
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import KrucibleIdentity, encode_identity
from checkers.verdict.verdict import Validity, Verdict, result_of
from results.campaigns.sections import facts_of
from results.campaigns.summary import outcome_of, summarise
from results.report import render_report
from results.report.size_limits import STEPS
from results.report.tables.tables import identity_rows
from results.run.text import closing_text
from results.store.judges import UNKNOWN, judged_again_by, load_judge, save_judged
from results.store.runs import RunUnreadableError, load_verdict, save_verdict
from tests.results.story import IDENTITY, Run

RECORDER = IDENTITY.krucible_commit
OTHER = KrucibleIdentity(version="0.1.0", commit="ba9876543210-dirty")
SAME = KrucibleIdentity(version="0.1.0", commit=RECORDER)
VALID = Verdict(Validity.VALID, (result_of("log", []),))


def test_a_verdict_is_read_as_it_was_given_whoever_gave_it(tmp_path: Path, red_run: Run) -> None:
    path = save_judged(tmp_path, red_run.verdict, OTHER)
    assert load_verdict(tmp_path) == red_run.verdict
    assert load_judge(tmp_path) == OTHER
    assert json.loads(path.read_bytes())["judged_by"] == {"version": "0.1.0", "commit": "ba9876543210-dirty"}
    bare = {name: value for name, value in json.loads(path.read_bytes()).items() if name != "judged_by"}
    assert bare == json.loads(save_verdict(tmp_path, red_run.verdict).read_bytes())


def test_the_judge_of_an_earlier_file_is_unknown(tmp_path: Path) -> None:
    save_verdict(tmp_path, VALID)
    assert load_judge(tmp_path) == UNKNOWN
    assert outcome_of(tmp_path).judged_by == UNKNOWN
    (tmp_path / "verdict.json").write_text("{")
    with pytest.raises(RunUnreadableError, match=r"verdict\.json is damaged"):
        load_judge(tmp_path)


@pytest.mark.parametrize(
    ("recorded", "by", "again"),
    [
        (RECORDER, OTHER, OTHER.commit),
        (RECORDER, SAME, ""),
        (RECORDER, UNKNOWN, ""),
        ("", OTHER, ""),
        ("ba9876543210", OTHER, OTHER.commit),
    ],
)
def test_a_run_was_judged_again_if_both_commits_are_known_and_differ(
    recorded: str, by: KrucibleIdentity, again: str
) -> None:
    assert judged_again_by(recorded, by) == again


def test_the_last_lines_and_the_report_say_who_judged_again(red_run: Run) -> None:
    line = f"krucible   judged again by {OTHER.commit}, recorded by {RECORDER}\n"
    assert line in closing_text(Path("r"), red_run.verdict, red_run.identity, by=OTHER)
    assert ("Judged again by", OTHER.commit) in identity_rows(IDENTITY, STEPS[0], OTHER)
    assert OTHER.commit in render_report(red_run.history, red_run.verdict, red_run.identity, OTHER)
    for by in (SAME, UNKNOWN):
        assert "judged again" not in closing_text(Path("r"), red_run.verdict, red_run.identity, by=by)
        assert "Judged again by" not in dict(identity_rows(IDENTITY, STEPS[0], by))


def test_a_summary_counts_the_runs_that_were_judged_again(tmp_path: Path) -> None:
    for number, by in enumerate((OTHER, SAME, OTHER, UNKNOWN), start=1):
        folder = tmp_path / f"20261120T21565{number}Z-{number}"
        folder.mkdir()
        (folder / "run.json").write_bytes(encode_identity(msgspec.structs.replace(IDENTITY, seed=number)))
        save_judged(folder, VALID, by)
    runs = [outcome_of(folder) for folder in sorted(tmp_path.iterdir())]
    assert dict(facts_of(summarise(runs)))["Judged again"] == f"2 runs, by {OTHER.commit}"
    assert "Judged again" not in dict(facts_of(summarise([runs[1], runs[3]])))
