"""``krucible signatures``: what a night found beside the nights before it."""

import html
import json
from pathlib import Path

import pytest

from checkers.verdict.verdict import Validity, Verdict
from harness import cli
from harness.cli.findings.signatures import ISSUES_MAX
from results.failures.nights import LEFT_OUT_FILE
from results.store.runs import VERDICT_FILE, list_runs
from tests.harness.fakes.runs import GREEN, RED
from tests.harness.recorded_run import a_verdict, planned, store_run

CHAOS = "exploratory/chaos"
LOST = a_verdict(Validity.INVALID, "lost-write", summary="17 records of log-0/3 are lost")


def put(store: Path, day: int, seed: int, verdict: Verdict | None) -> Path:
    """A run of a day."""
    folder = store / CHAOS / f"202611{day:02}T010000Z-{seed}"
    store_run(folder, planned(CHAOS, seed), verdict, [], run=f"{day}-{seed}")
    identity = folder / "run.json"
    identity.write_text(identity.read_text().replace("2026-11-22T", f"2026-11-{day:02}T"))
    return folder


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """A store with two red runs of one kind, one of another, a green one, and one without a verdict."""
    store = tmp_path / "store"
    for seed, verdict in enumerate((RED, LOST, RED, GREEN, None), start=1):
        put(store, 20, seed, verdict)
    return store


def signatures(*words: object) -> int:
    return cli.invoke(["signatures", *map(str, words)])


def test_all_are_new_where_there_is_no_past(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert signatures(night) == 0
    output = capsys.readouterr().out
    assert output.startswith("2 signatures, 2 new\n")
    assert output.index("quorum/lost-write  1 run, new") < output.index("quorum/zombie-leader  2 runs, new")
    assert f"  first in {CHAOS}/20261120T010000Z-1\n" in output
    assert signatures(night, "--past", night.parent / "nowhere") == 0
    assert capsys.readouterr().out == output


def test_a_night_is_compared_with_those_before_and_added_to_them(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    past, before = tmp_path / "nights", tmp_path / "before"
    put(before, 1, 9, RED)
    (before / CHAOS / "20261101T010000Z-9/report.html").touch()
    assert signatures(before, "--past", past, "--add") == 0
    assert "past  1 run added" in capsys.readouterr().err
    assert {path.name for path in past.rglob("*.*")} == {"run.json", "verdict.json"}

    for _ in range(2):  # a job that is run again prints the same
        assert signatures(night, "--past", past, "--add", "--json") == 0
        found = {one["signature"]["anomaly"]: one for one in json.loads(capsys.readouterr().out)}
        assert (found["lost-write"]["new"], found["lost-write"]["before"]) == (True, 0)
        assert (found["zombie-leader"]["new"], found["zombie-leader"]["before"]) == (False, 1)
        assert found["zombie-leader"]["first_seen"] == "2026-11-01T01:00:00Z"
    assert len(list_runs(past)) == 5

    assert signatures(night, "--past", past, "--new") == 0
    output = capsys.readouterr().out
    assert output.startswith("2 signatures, 1 new\n")
    assert "zombie-leader" not in output


def test_the_past_forgets_what_is_too_old(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    past = tmp_path / "nights"
    put(past, 1, 9, RED)
    put(past, 10, 9, RED)
    assert signatures(night, "--past", past, "--add", "--keep-days", "10") == 0
    assert "4 runs added" in capsys.readouterr().err
    assert {run.began_at[:10] for run in list_runs(past)} == {"2026-11-10", "2026-11-20"}
    (past / CHAOS / "20261110T010000Z-9/run.json").write_text("{")
    assert signatures(night, "--past", past, "--add", "--keep-days", "1") == 0
    assert len(list_runs(past)) == 5  # nobody knows how old that one is


def test_each_new_signature_has_a_text_for_a_tracker(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    past, issues, page = tmp_path / "nights", tmp_path / "issues", tmp_path / "step.md"
    put(past, 1, 9, RED)
    assert signatures(night, "--past", past, "--issues", issues, "--step-summary", page) == 0
    (path,) = issues.iterdir()
    assert f"\n{path.stem}  quorum/lost-write" in capsys.readouterr().out
    text = path.read_text()
    assert text.startswith(f"# `lost-write` in `{CHAOS}` on Kafka `")
    assert f"## Signature `{path.stem}`" in text
    assert f"- `{CHAOS}/20261120T010000Z-2`" in text
    assert page.read_text().startswith("## Signatures: 2, 1 new\n\n| signature |")
    assert f"| `{path.stem}` | `quorum/lost-write` | 1 run, new |" in page.read_text()


def test_texts_for_jira_are_those_of_a_run_for_jira(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    issues = tmp_path / "issues"
    assert signatures(night, "--issues", issues, "--format", "jira") == 0
    first = capsys.readouterr().out.splitlines()[1].split()[0]
    assert {path.suffix for path in issues.iterdir()} == {".jira"}
    text = (issues / f"{first}.jira").read_text()
    assert text.startswith("h1. {{lost-write}} in {{" + CHAOS)
    assert f"\nh2. Signature {{{{{first}}}}}\n" in text
    run = next(line for line in text.splitlines() if line.startswith("* {{"))[4:-2]
    assert cli.invoke(["issue", str(night / html.unescape(run)), "--format", "jira"]) == 0
    assert text.startswith(capsys.readouterr().out.rstrip())


def test_a_markup_without_texts_is_refused(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert signatures(night, "--format", "jira") == 64
    assert "--format jira without --issues" in capsys.readouterr().err


def test_a_night_that_breaks_everything_writes_few_issues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, issues = tmp_path / "store", tmp_path / "issues"
    names = [f"kind-{letter}" for letter in "abcdefghijkl"]
    for seed, name in enumerate(names):
        put(store, 1, seed, a_verdict(Validity.INVALID, name))
    assert signatures(store, "--issues", issues) == 0
    assert len(list(issues.iterdir())) == ISSUES_MAX
    assert f"issues  {len(names) - ISSUES_MAX} signatures left out" in capsys.readouterr().err


def test_signatures_beyond_the_limit_stay_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"kind-{letter}" for letter in "abcdefghijkl"]
    texts: list[set[str]] = []
    for day in (1, 2, 3):
        store, issues = tmp_path / f"store-{day}", tmp_path / f"issues-{day}"
        for seed, name in enumerate(names):
            put(store, day, seed, a_verdict(Validity.INVALID, name))
        assert signatures(store, "--past", tmp_path / "nights", "--issues", issues, "--add") == 0
        texts.append({path.name for path in issues.iterdir()})
    assert list(map(len, texts)) == [ISSUES_MAX, len(names) - ISSUES_MAX, 0]
    assert not texts[0] & texts[1]
    assert "signatures, 0 new" in capsys.readouterr().out.partition(f"{len(names)} signatures, 2 new")[2]
    assert len(list_runs(tmp_path / "nights")) == 3 * len(names)


def test_a_record_of_what_was_left_out_that_can_not_be_read_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "store", 1, 1, RED)
    past = tmp_path / "nights"
    assert signatures(tmp_path / "store", "--past", past, "--add") == 0
    (kept,) = list_runs(past)
    (kept.folder / LEFT_OUT_FILE).write_text("{")
    assert signatures(tmp_path / "store", "--past", past, "--issues", tmp_path / "issues", "--add") == 3
    assert LEFT_OUT_FILE in capsys.readouterr().err
    assert not (tmp_path / "issues").exists()


def test_a_quiet_night_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "store", 1, 1, GREEN)
    put(tmp_path / "store", 1, 2, RED).joinpath(VERDICT_FILE).write_text("{")
    page = tmp_path / "step.md"
    assert signatures(tmp_path / "store", "--issues", tmp_path / "issues", "--step-summary", page) == 0
    assert capsys.readouterr().out == "0 signatures, 0 new\n"
    assert list((tmp_path / "issues").iterdir()) == []
    assert page.read_text() == "## Signatures: 0, 0 new\n\n"


def test_what_does_not_fit_is_refused(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert signatures(night, "--add") == 64
    assert "--add needs the store" in capsys.readouterr().err
    assert signatures(night.parent / "nosuch") == 64
    assert "no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--json"], ["--add", "--past", "nights"]], ids=" ".join)
def test_a_folder_without_runs_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty list would say that the runs have no failures."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty/deep").mkdir(parents=True)
    assert signatures("empty", *words) == 64
    output = capsys.readouterr()
    assert output.out == ""
    store = "a folder that has runs as SCENARIO/TIME-SEED, such as smoke/partition/20261122T010000Z-7"
    assert output.err.splitlines() == [
        "krucible: there are no runs to compare",
        "  got:      a folder without runs",
        f"  expected: {store}, or the folder of a run",
        "  where:    empty",
        "  next:     name a folder of runs, such as runs, or make a run: krucible run smoke/partition",
    ]
    assert not (tmp_path / "nights").exists()


def test_a_run_is_no_store_that_can_be_added(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would become the past itself, and hide all runs there."""
    past = tmp_path / "nights"
    put(past, 1, 9, RED)
    run = night / CHAOS / "20261120T010000Z-2"
    assert signatures(run, "--past", past, "--add") == 64
    assert "which is a run" in capsys.readouterr().err
    assert len(list_runs(past)) == 1
    assert signatures(run, "--past", past) == 0


def test_a_link_to_a_run_is_followed(
    night: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the present folder may be a run."""
    run = night / CHAOS / "20261120T010000Z-2"
    (night / "latest").symlink_to(run)
    monkeypatch.chdir(run)
    issues = night.parent / "issues"
    outputs = []
    for name in (run, night / "latest", "."):
        assert signatures(name, "--issues", issues) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0].startswith("1 signature, 1 new\n")
    assert "\n  first in 20261120T010000Z-2\n" in outputs[0]
    assert [path.read_text().startswith("# `lost-write`") for path in issues.iterdir()] == [True]


def test_a_part_is_compared_with_the_whole_store(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own runs are no past, whatever their places are relative to."""
    zombies = [night / CHAOS / f"20261120T010000Z-{seed}" for seed in (1, 3)]
    assert signatures(zombies[0], "--past", night) == 0
    assert "1 run, 1 run before" in capsys.readouterr().out
    assert signatures(night / CHAOS, "--past", night) == 0
    assert capsys.readouterr().out.startswith("2 signatures, 2 new\n")


def test_a_part_of_a_store_is_not_added(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run would have two places in the past, and count twice."""
    past = tmp_path / "nights"
    for part in (night / CHAOS, night / "exploratory"):
        assert signatures(part, "--past", past, "--add") == 64
        stderr = capsys.readouterr().err
        assert f"{part}, which is a part of a store" in stderr
        assert f"runs lie below {CHAOS}" in stderr
    assert not past.exists()
    assert signatures(night.parent, "--past", past, "--add") == 0, "what holds a store is more than a part"


def test_a_store_without_any_verdict_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "store", 1, 1, None)
    assert signatures(tmp_path / "store") == 0
    output = capsys.readouterr()
    assert output.out == "0 signatures, 0 new\n"
    assert output.err.startswith(f"runs  none in {tmp_path / 'store'} has a verdict")


def test_times_of_others_are_printed_without_escapes(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = put(tmp_path / "nights", 1, 9, RED) / "run.json"
    identity.write_text(identity.read_text().replace("2026-11-01T", "\\u001b[2J2026-11-01T"))
    assert signatures(night, "--past", tmp_path / "nights") == 0
    output = capsys.readouterr().out
    assert "1 run before" in output
    assert "\x1b" not in output
