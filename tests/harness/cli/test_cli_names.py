"""Names that one types: suggested where mistyped, completed by the shell, short for runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from msgspec.structs import replace

from checkers.history.identity import IDENTITY_FILE, encode_identity
from harness import cli
from harness.cli.commands import COMMANDS, krucible
from harness.cli.pipeline.group import COMMANDS as OF_PIPELINE
from results.store.runs import RunAmbiguousError, RunNotFoundError, find_run
from tests.results.story import IDENTITY

OLD = "smoke/partition/20261119T101500Z-7"
NEW = "smoke/partition/20261120T215657Z-901"
OTHER = "exploratory/chaos/20261121T000000Z-17"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs"
    monkeypatch.setenv("KRUCIBLE_RUNS", str(folder))
    for place in (OLD, NEW, OTHER):
        (folder / place).mkdir(parents=True)
    return folder


def completed(*words: str) -> list[str]:
    """What the shell offers for the last word."""
    shell = ShellComplete(krucible, {}, "krucible", "_KRUCIBLE_COMPLETE")
    return [
        f"<{item.type}>" if item.type != "plain" else item.value
        for item in shell.get_completions(list(words[:-1]), words[-1])
    ]


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["chek"], "Did you mean 'check'?"),
        (["minimize", "latest"], "Did you mean 'minimise'?"),
        (["pipeline", "tabels"], "Did you mean 'tables'?"),
        (["cluster", "donw"], "Did you mean 'down'?"),
        (["run", "x", "--sed", "1"], "--seed"),
    ],
)
def test_what_is_mistyped_is_answered_by_what_is_near(
    words: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(words) == 64
    assert near in capsys.readouterr().err


def test_what_is_near_nothing_is_answered_by_no_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["xyzzy"]) == 64
    stderr = capsys.readouterr().err
    assert "krucible: no such command 'xyzzy'\n  where:    krucible\n  next:     krucible --help\n" in stderr
    assert "mean" not in stderr


def test_commands_are_completed_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str) -> None:
        raise AssertionError("it was imported")

    monkeypatch.setattr("harness.cli.entries.import_module", refuse)
    assert completed("") == list(COMMANDS)
    assert completed("re") == ["report", "replay", "rerun-failed", "reassign"]
    assert completed("--he") == ["--help"]


def test_seeded_and_known_bugs_are_completed() -> None:
    assert completed("run", "x", "--seeded-bug", "min-isr") == ["min-isr-ignored"]
    assert completed("sensitivity", "min-isr-ignored", "vote-not") == ["vote-not-persisted"]
    assert completed("sensitivity", "xyzzy") == []
    assert completed("track-record", "--only", "KAFKA-154") == ["KAFKA-15489"]
    assert completed("track-record", "--only", "regressions/kafka-154") == [
        "regressions/kafka-15489-zombie-leader"
    ]


def test_commands_of_the_pipeline_are_completed_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cli.pipeline.group.find_spec", lambda _name: None)
    assert completed("pipeline", "") == list(OF_PIPELINE)


def test_scenarios_are_completed_and_files_where_there_is_none() -> None:
    assert "smoke/partition" in completed("run", "smo")
    assert all(name.startswith("kips/") for name in completed("run", "kips/"))
    assert completed("run", "./tri") == ["<file>"]


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("line", ["check", "report", "replay", "minimise", "rerun-failed", "run --from"])
def test_runs_are_completed(line: str) -> None:
    command = line.split()
    assert completed(*command, "") == [
        "latest",
        "exploratory/chaos",
        OTHER,
        "smoke/partition",
        NEW,
        OLD,
    ]
    assert completed(*command, "smoke/partition/2") == [NEW, OLD]
    assert completed(*command, "20261120") == ["20261120T215657Z-901"]
    assert completed(*command, "nosuch") == ["<file>"]


def test_runs_are_completed_from_the_store_that_is_named(runs: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(runs / "exploratory", elsewhere / "exploratory")
    assert completed("check", "--runs", str(elsewhere), "") == ["latest", "exploratory/chaos", OTHER]
    assert completed("check", "--runs", str(tmp_path / "nowhere"), "") == ["latest"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_of_the_documentation_prints_a_script(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from harness.cli import main; main()"],
        env=os.environ | {"_KRUCIBLE_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"_KRUCIBLE_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("901", NEW),
        ("7", OLD),
        ("17", OTHER),
        ("20261119", OLD),
        ("20261120T215657Z-901", NEW),
        ("57Z-901", NEW),
        ("smoke/partition/7", OLD),
        ("smoke/partition/20261120", NEW),
        (OTHER, OTHER),
    ],
)
def test_a_run_has_short_names(runs: Path, name: str, place: str) -> None:
    assert find_run(runs, name) == (runs / place).resolve()


@pytest.mark.parametrize("name", ["90", "01", "8", "smoke/7", "smoke/partition/17", "Z-7", "1\0", "None"])
def test_a_part_of_a_seed_is_no_name(runs: Path, name: str) -> None:
    with pytest.raises(RunNotFoundError, match="its seed or its time"):
        find_run(runs, name)


@pytest.mark.parametrize("name", ["2", "2026112", "smoke/partition/2"])
def test_a_seed_that_no_run_has_is_no_beginning_of_a_time(runs: Path, name: str) -> None:
    shutil.rmtree(runs / NEW)
    shutil.rmtree(runs / OTHER)
    with pytest.raises(RunNotFoundError, match="its seed or its time"):
        find_run(runs, name)
    assert find_run(runs, "20261119") == (runs / OLD).resolve()


def test_a_name_that_several_runs_have_is_answered_by_theirs(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = [f"smoke/partition/20261121T00000{second}Z-{second}" for second in (1, 2)]
    for place in later:
        (runs / place).mkdir()
    for command in ("check", "report"):
        assert cli.invoke([command, "20261121"]) == 64
        stderr = capsys.readouterr().err
        assert "3 runs are called '20261121'" in stderr
        assert f"got:      {later[1]}\n            {later[0]}\n            {OTHER}\n" in stderr
    for number in range(10):
        (runs / f"files/x/20261122T00000{number}Z-5").mkdir(parents=True)
    with pytest.raises(RunAmbiguousError, match="and 2 more"):
        find_run(runs, "5")


def test_a_replay_is_passed_over_where_its_original_has_the_same_seed(runs: Path) -> None:
    replay = runs / "smoke/partition/20261122T000000Z-901"
    replay.mkdir()
    identity = replace(IDENTITY, replay_of="9f2c61d0")
    (replay / IDENTITY_FILE).write_bytes(encode_identity(identity))
    assert find_run(runs, "901", originals=True) == (runs / NEW).resolve()
    with pytest.raises(RunAmbiguousError):
        find_run(runs, "901")
