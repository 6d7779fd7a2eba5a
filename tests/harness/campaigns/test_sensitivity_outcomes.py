"""``krucible sensitivity --outcomes``: what runs came to, kept in files where their stores do not survive."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.identity import KrucibleIdentity
from harness import cli
from harness.campaigns import making as running
from harness.campaigns.sensitivity import runs as sensitivity_runs
from harness.campaigns.sensitivity.identity import bug_digest, is_script_of
from harness.campaigns.sensitivity.stored_runs import StoredRuns
from harness.seeded_bugs.catalogue import BUGS_VERSION, seeded_bugs
from harness.seeded_bugs.header import SeededBug
from harness.seeded_bugs.script import script_of
from results.sensitivity import MadeAgain
from results.sensitivity.outcomes import OutcomeLine, Outcomes, decode_outcomes, encode_outcomes
from results.store.judges import save_judged
from results.store.runs import load_verdict
from tests.harness.fakes.measured_runs import FakeRuns
from tests.mutations.recordings import journals

LATE, EARLY = "commit-not-applied", "min-isr-ignored"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRuns:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    made = FakeRuns()
    monkeypatch.setattr(running, "run_one", made)
    monkeypatch.setattr(sensitivity_runs, "require_images", list)
    return made


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "docs" / "before.json"


def measure(*words: object) -> int:
    return cli.invoke(["sensitivity", LATE, EARLY, "--budget", "1x30", *map(str, words)])


def outcomes(file: Path) -> Outcomes:
    return decode_outcomes(file.read_bytes())


def change(file: Path, place: int, **fields: Any) -> OutcomeLine:
    """Alter one line of a file."""
    had = outcomes(file)
    line = msgspec.structs.replace(had.runs[place], **fields)
    runs = (*had.runs[:place], line, *had.runs[place + 1 :])
    file.write_bytes(encode_outcomes(msgspec.structs.replace(had, runs=runs)))
    return line


def test_what_stands_in_a_file_is_not_run_again_and_gives_the_same_page(
    fake: FakeRuns, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.seen = {EARLY}
    assert measure("--outcomes", kept, "--json") == 0
    output = capsys.readouterr().out
    data = kept.read_bytes()
    assert [line.place for line in outcomes(kept).runs] == [
        (LATE, 1, False), (LATE, 1, True), (EARLY, 1, False), (EARLY, 1, True),
    ]  # fmt: skip
    seen = outcomes(kept).runs[2]
    assert (seen.ending, seen.run_ms, seen.origin.commit) == ("seen", 50_000, "0123456789ab")
    assert (seen.origin.kafka, seen.origin.bug) == (
        "c0ffeec0ffee",
        bug_digest(seeded_bugs()[EARLY], BUGS_VERSION),
    )

    shutil.rmtree(tmp_path / "runs")
    assert measure("--outcomes", kept, "--json") == 0
    assert capsys.readouterr().out == output
    assert kept.read_bytes() == data
    assert len(fake.done) == 4


def test_a_file_keeps_which_bugs_were_to_be_found_and_which_runs_were_made_again(
    fake: FakeRuns, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = ["sensitivity", "--budget", "1x30", "--outcomes", str(kept)]
    fake.cancelled_at = 1
    assert cli.invoke([*one, EARLY]) == 2
    assert (outcomes(kept).bugs, outcomes(kept).runs) == ((EARLY,), ())
    fake.cancelled_at = 1_000
    assert measure("--outcomes", kept) == 0
    assert outcomes(kept).bugs == (LATE, EARLY)
    again = MadeAgain(bug=LATE, why="the load sends more")
    kept.write_bytes(encode_outcomes(msgspec.structs.replace(outcomes(kept), bugs=(), rerun=(again,))))
    capsys.readouterr()
    assert measure("--outcomes", kept, "--no-run") == 0
    output = capsys.readouterr().out
    assert "; without runs that were made again after a change for that bug: 0 of 2, 0 %" in output
    assert "| all, without runs made again | 2 | 0 | 0 % |" in output
    assert f"| `{LATE}` | the load sends more |" in output
    assert (outcomes(kept).bugs, outcomes(kept).rerun) == ((), (again,))
    fake.cancelled_at = len(fake.done) + 1
    assert cli.invoke([*one, "read-skips-one"]) == 2
    assert outcomes(kept).bugs == (LATE, EARLY, "read-skips-one")
    assert outcomes(kept).rerun == (again,)


def test_the_file_is_renewed_after_each_run(fake: FakeRuns, kept: Path) -> None:
    fake.cancelled_at = 3
    assert measure("--outcomes", kept) == 2
    assert len(outcomes(kept).runs) == 2
    fake.cancelled_at = 1_000
    assert measure("--outcomes", kept) == 0
    assert len(outcomes(kept).runs) == 4


def test_two_processes_may_renew_one_file(
    fake: FakeRuns, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one comes and goes while the first one is in its last run."""
    other = ["sensitivity", EARLY, "--budget", "1x30", "--outcomes", str(kept), "--runs", str(tmp_path / "b")]
    ends: list[int] = []

    def meanwhile(*given: Any) -> Any:
        if len(fake.done) == 1:
            fake.done.append(("another", 0))
            ends.append(cli.invoke(other))
        return fake(*given)

    monkeypatch.setattr(running, "run_one", meanwhile)
    assert cli.invoke(["sensitivity", LATE, "--budget", "1x30", "--outcomes", str(kept)]) == 0
    assert ends == [0]
    assert [line.bug for line in outcomes(kept).runs] == [LATE, LATE, EARLY, EARLY]


@pytest.mark.usefixtures("fake")
def test_what_the_store_holds_wins_over_a_file(kept: Path) -> None:
    assert measure("--outcomes", kept) == 0
    data = kept.read_bytes()
    change(kept, 0, ending="seen", why="somewhere else")
    assert measure("--outcomes", kept, "--no-run") == 0
    assert kept.read_bytes() == data


@pytest.mark.usefixtures("fake")
def test_a_run_that_was_judged_again_is_reported_and_what_a_file_knows_of_it_is_kept(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure("--outcomes", kept) == 0
    origin = outcomes(kept).runs[0].origin
    assert origin.judged_by == ""
    change(kept, 0, origin=msgspec.structs.replace(origin, judged_by="a tree that was not recorded"))
    folder = next(tmp_path.rglob(outcomes(kept).runs[2].folder))
    save_judged(folder, load_verdict(folder), KrucibleIdentity(version="0.1.0", commit="fedcba987654"))
    capsys.readouterr()
    assert measure("--outcomes", kept, "--no-run", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [one.origin.judged_by for one in outcomes(kept).runs] == [
        "a tree that was not recorded", "", "fedcba987654", "",
    ]  # fmt: skip
    assert [trial["judged_again"] for bug in report["bugs"] for trial in bug["trials"]] == [True, True]
    assert [control["judged_again"] for control in report["controls"]] == [None, None]


def test_outcomes_of_a_bug_or_of_faults_that_have_changed_are_reported_and_run_again(
    fake: FakeRuns, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure("--outcomes", kept) == 0
    shutil.rmtree(tmp_path / "runs")
    origin = outcomes(kept).runs[0].origin
    change(kept, 0, origin=msgspec.structs.replace(origin, bug="0" * 12))
    change(kept, 1, origin=msgspec.structs.replace(origin, bug="", schedule="0" * 12))
    change(kept, 2, command="krucible run exploratory/chaos --seed 1")
    capsys.readouterr()
    assert measure("--outcomes", kept, "--no-run", "--json") == 2
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        f"left out: {LATE} 1: the bug's file has changed since",
        f"left out: {LATE} 1, control: the scenario plans other faults now",
        f"left out: {EARLY} 1: the plan has another run here now",
    ]
    assert [one["bug"] for one in json.loads(captured.out)["left_out"]] == [LATE, LATE, EARLY]
    assert len(outcomes(kept).runs) == 4
    assert measure("--outcomes", kept) == 0
    assert len(fake.done) == 4 + 3
    capsys.readouterr()
    assert measure("--outcomes", kept) == 0
    assert "left out" not in capsys.readouterr().err


def test_runs_of_the_store_that_are_of_another_bug_are_reported_and_run_again(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure() == 0
    (script,) = (
        file for file in tmp_path.rglob("seeded-bug.btm") if EARLY in file.read_text()
    )  # fmt: skip
    script.write_text(script.read_text().replace("RULE ", "RULE another ", 1))
    assert measure() == 0
    assert f"left out: {EARLY} 1: the bug's file has changed since" in capsys.readouterr().err
    assert [bug for bug, _seed in fake.done[4:]] == [EARLY]


def test_a_longer_budget_goes_on_with_the_file_of_a_shorter_one(fake: FakeRuns, kept: Path) -> None:
    assert measure("--outcomes", kept) == 0
    longer = ["sensitivity", LATE, EARLY, "--budget", "2x30", "--outcomes", str(kept)]
    assert cli.invoke(longer) == 0
    assert len(fake.done) == 8
    assert outcomes(kept).asked.budget == "2x30"
    assert measure("--outcomes", kept, "--no-run") == 0
    assert (outcomes(kept).asked.budget, len(outcomes(kept).runs)) == ("2x30", 8)


@pytest.mark.usefixtures("fake")
def test_files_of_several_machines_are_put_together(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, stranger = kept.with_name("before-2.json"), kept.with_name("gambits.json")
    one = ["sensitivity", "--budget", "1x30", "--series", "before gambits"]
    assert cli.invoke([*one, LATE, "--outcomes", str(kept)]) == 0
    assert cli.invoke([*one, EARLY, "--outcomes", str(other), "--runs", str(tmp_path / "there")]) == 0
    assert cli.invoke(["sensitivity", EARLY, "--budget", "1x30", "--outcomes", str(stranger)]) == 0
    shutil.rmtree(tmp_path / "runs")
    capsys.readouterr()
    assert measure("--outcomes", kept, "--outcomes-from", kept.parent, "--no-run") == 0
    assert f"gambits.json is of another measurement (gambits: Kafka {BUGS_VERSION}" in capsys.readouterr().err
    assert len(outcomes(kept).runs) == 4
    assert outcomes(kept).series == "before gambits"


@pytest.mark.usefixtures("fake")
def test_a_file_of_another_measurement_is_no_target(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure("--outcomes", kept, "--series", "before") == 0
    for words in (("--seed", "2"), ("--preset", "smoke"), ("--series", "after")):
        assert measure("--outcomes", kept, "--no-run", *words) == 64
        assert "this file has the outcomes of another measurement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "expected"),
    [("{}", "krucible_sensitivity"), ("<<<<<<< ours\n{}", "remove git's markers"), ("", "truncated")],
)
def test_what_is_no_file_of_outcomes_is_refused_with_what_to_do(
    fake: FakeRuns, kept: Path, data: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.parent.mkdir()
    kept.write_text(data)
    for option in ("--outcomes", "--outcomes-from"):
        assert measure(option, kept) == 64
        error = capsys.readouterr().err
        assert expected in error
        assert str(kept) in error
    assert kept.read_text() == data
    assert fake.done == []


def test_a_file_to_read_has_to_be_there(
    fake: FakeRuns, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure("--outcomes-from", kept) == 64
    assert "there is no such file" in capsys.readouterr().err
    assert fake.done == []


def test_a_failure_is_kept_and_is_tried_again(fake: FakeRuns, kept: Path, tmp_path: Path) -> None:
    fake.failing = {LATE}
    assert measure("--outcomes", kept) == 0
    assert outcomes(kept).runs[0].why.startswith("no engine")
    shutil.rmtree(tmp_path / "runs")
    fake.failing = set()
    assert measure("--outcomes", kept) == 0
    assert outcomes(kept).runs[0].ending == "never triggered"


def test_a_run_counts_once_it_was_decided_or_came_to_its_end(fake: FakeRuns, tmp_path: Path) -> None:
    fake.cancelled_at = 1
    assert measure() == 2
    (folder,) = (file.parent for file in tmp_path.rglob("verdict.json"))
    command = json.loads((folder / "run.json").read_text())["reproduce"]
    store = StoredRuns(tmp_path / "runs")
    store.look()
    assert list(store.of(command)) == []
    (folder / "history-runner.jsonl").write_bytes(journals("smoke")["history-runner.jsonl"])
    assert [run.folder for run in store.of(command)] == [folder]


def test_a_bug_is_known_by_its_rules_and_its_nodes() -> None:
    def digest(one: SeededBug) -> str:
        return bug_digest(one, BUGS_VERSION)

    bug = seeded_bugs()[EARLY]
    worded = msgspec.structs.replace(bug, rules=bug.rules.replace("# summary: ", "# summary: Well: "))
    elsewhere = msgspec.structs.replace(
        bug, rules=bug.rules.replace("# nodes: broker", "# nodes: controller")
    )
    other = msgspec.structs.replace(bug, rules=bug.rules.replace("\nDO ", "\nDO  "))
    assert digest(worded) == digest(bug)
    assert len({digest(one) for one in (bug, elsewhere, other)}) == 3
    assert is_script_of(script_of(worded, BUGS_VERSION), bug, BUGS_VERSION)
    assert not is_script_of(script_of(other, BUGS_VERSION), bug, BUGS_VERSION)


def test_a_rule_for_a_later_version_does_not_change_what_a_bug_is_on_earlier_ones() -> None:
    bug = seeded_bugs()["marker-not-sent"]
    rules, later = bug.rules.split("\n\n")
    assert "# versions: 4.4.0\nCLASS org.apache.kafka." in later
    lines = [line for line in rules.splitlines() if not line.startswith("# versions: ")]
    before = msgspec.structs.replace(bug, rules="\n".join(lines) + "\n")
    assert bug_digest(bug, "4.3.1") == bug_digest(before, "4.3.1") == bug_digest(bug, "3.9.0")
    assert bug_digest(bug, "4.4.0") != bug_digest(bug, "4.3.1")
    assert is_script_of(script_of(before, "4.3.1"), bug, "4.3.1")
    assert not is_script_of(script_of(bug, "4.3.1"), bug, "4.4.0")
