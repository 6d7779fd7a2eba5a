"""Every way to be wrong on the command line that needs no cluster: what is reported, and the exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from harness import cli
from harness.cli import commands

CUT_HEADER = b'{"krucible_history":1,"run'
CHAOS = "exploratory/chaos"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))


def folder_with(tmp_path: Path, history: bytes) -> Path:
    folder = tmp_path / "runs" / "x" / "20261120T215657Z-8"
    folder.mkdir(parents=True)
    (folder / "history-a.jsonl").write_bytes(history)
    return folder


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["nosuch"], 64, "no such command"),
        (["run", "nosuch/x"], 64, "there is no scenario"),
        (["run", CHAOS, "--kafka-version", "abc"], 64, "is not a Kafka version"),
        (["run", CHAOS, "--kafka-version", "4.3.1-../../x"], 64, "is not a Kafka version"),
        (["run", CHAOS, "--kafka-version", f"4.3.{'1' * 5000}"], 64, "is not a Kafka version"),
        (["run", CHAOS, "--seed", str(2**63)], 64, "--seed with a whole number from 0 up to"),
        (["run", CHAOS, "--seeds", "1..99999999"], 64, "at most 10000"),
        (["run", CHAOS, "--seeds", "\u0661..\u0663"], 64, "--seeds with A..B"),
        (["run", CHAOS, "--seeds", "1..2", "--keep"], 64, "single run"),
        (["run", CHAOS, "--duration-s", "99999999999"], 64, "--duration-s with a whole number up to 86400"),
        (["run", CHAOS, "--feature", f"a={'9' * 5000}"], 64, "FEATURE=LEVEL, LEVEL a whole number"),
        (["run", CHAOS, "--node-file", "a\0b:/x"], 64, "a file of this host as SRC"),
        (["run", CHAOS, "--seed", "1"], 3, "krucible setup"),
        (["cluster", "up", "--kafka-version", "zzz"], 64, "is not a Kafka version"),
        (["cluster", "up", "--controllers", "3", "--brokers", "5"], 64, "that cluster is not possible"),
        (["cluster", "up"], 3, "krucible setup"),
        (["heal"], 3, "krucible setup"),
        (["check"], 64, "no run is called"),
        (["check", "latest"], 64, "no run is called"),
        (["check", "typo.edn", "--model", "register"], 64, "no run and no file has that name"),
        (["check", "tests"], 64, "or a folder with --labels"),
        (["check", "tests"], 64, "there is no run in that folder"),
        (["check", "tests"], 64, "copy the whole folder of the run"),
        (["check", "a" * 5000], 64, "no run and no file"),
        (["check", "\udcff\0"], 64, "no run and no file"),
        (["report", "nosuch"], 64, "no run is called"),
    ],
)
def test_it_is_reported_and_the_exit_code_is_as_documented(
    words: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(words) == code
    stderr = capsys.readouterr().err
    assert expected in stderr
    assert "defect" not in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(("history", "code"), [(CUT_HEADER, 2), (b"junk\n", 3), (b"\xff\n", 3), (b"", 2)])
def test_a_damaged_history_is_judged_unknown_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], history: bytes, code: int
) -> None:
    folder = folder_with(tmp_path, history)
    assert cli.invoke(["check", "x"]) == code
    captured = capsys.readouterr()
    assert "history-a.jsonl" in captured.out + captured.err
    assert (folder / "history-a.jsonl").read_bytes() == history


def test_runs_that_is_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert cli.invoke(["check", "--runs", str(tmp_path / "file")]) == 64
    assert "is a file" in capsys.readouterr().err


def test_a_campaign_whose_state_is_damaged_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["run", CHAOS, "--seeds", "1..2"]) == 3
    (state,) = tmp_path.glob("runs/**/campaign.json")
    state.write_text('{"asked": 3')
    assert cli.invoke(["run", CHAOS, "--seeds", "1..2"]) == 3
    assert f"rm {state}" in capsys.readouterr().err


def test_names_of_folders_are_no_markup_and_need_not_be_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (b"[/red]", b"a\xff\x1b[31m"):
        (tmp_path / "runs" / os.fsdecode(name) / "20261120T215657Z-7").mkdir(parents=True)
    assert cli.invoke(["list"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert cli.invoke(["list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


def test_the_list_of_commands_is_theirs() -> None:
    for name, entry in commands.COMMANDS.items():
        command = commands.krucible.get_command(click.Context(commands.krucible), name)
        assert command is not None
        assert (command.name, command.get_short_help_str(limit=200)) == (name, entry.summary)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["list", "--scenarios"], ["check", "--help"]])
def test_what_needs_no_engine_and_no_graph_loads_none(words: list[str]) -> None:
    program = (
        "import sys; from harness import cli; code = cli.invoke(sys.argv[1:]);"
        "heavy = {'docker', 'kafka', 'scipy', 'networkx', 'numba'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_defect_is_saved_and_reported_even_without_room_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("one by nought")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(commands.krucible, "main", broken)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    assert cli.invoke(["list"]) == 3
    stderr = capsys.readouterr().err
    assert "a defect of krucible" in stderr
    assert "ZeroDivisionError: one by nought" in stderr


@pytest.mark.slow
def test_a_seed_plans_the_same_bytes_in_every_process() -> None:
    program = (
        "from harness.plan.planning import RunOptions, plan_run; from harness.plan.schedule import encode;"
        "import sys; [sys.stdout.buffer.write(encode(plan_run(RunOptions(scenario='exploratory/chaos',"
        " seed=s, mode=m, duration_s=300)).schedule)) for s in range(20) for m in ('combined', 'isolated')]"
    )
    plans = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(plans) == 1
    assert len(plans.pop()) > 10_000
