"""Which run ``krucible replay`` carries out when it is asked again, and what of replays themselves."""

from pathlib import Path

import pytest

from harness import cli
from tests.harness.fakes.runs import GREEN, RED, ZOMBIE, Having, having_runs, stored
from tests.harness.recorded_run import planned


@pytest.fixture
def red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    return stored(tmp_path / "runs", RED)


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Having:
    return having_runs(monkeypatch)


def test_latest_is_the_same_run_again_after_its_replays(
    red: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = having(GREEN, RED, GREEN, GREEN)
    for words in (["latest"], ["latest", "--symbolic"], [ZOMBIE], ["latest"]):
        cli.invoke(["replay", *words])
        assert f"replaying  {red.resolve()}: quorum/zombie-leader" in capsys.readouterr().out
    assert {plan.replay_of for plan in fake.plans} == {"abc"}
    assert fake.plans[1].schedule == planned(ZOMBIE, kafka_version="3.6.2").schedule


@pytest.mark.usefixtures("red")
def test_what_was_interrupted_goes_on_by_the_name_of_latest(
    having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    having(RED, GREEN).interrupt_after = 2
    assert cli.invoke(["replay", "latest", "--times", "3"]) == 0
    fake = having(GREEN, GREEN)
    assert cli.invoke(["replay", "latest", "--times", "3"]) == 0
    assert "resuming: 1 of 3 runs are done already" in capsys.readouterr().out
    assert len(fake.plans) == 2


def replay_of(red: Path, having: Having, *options: str) -> Path:
    """The folder of a replay."""
    having(RED)
    assert cli.invoke(["replay", str(red), *options]) == 0
    (again,) = (path for path in red.parent.glob("2026*Z-7") if path != red)
    return again


def test_a_replay_has_no_roles_to_be_resolved_anew(
    red: Path, tmp_path: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    again = replay_of(red, having)
    words = ["replay", str(again), "--symbolic", "--kafka-version", "3.7.1"]
    capsys.readouterr()
    assert cli.invoke(words) == 64
    stderr = capsys.readouterr().err
    assert "that run is a replay" in stderr
    assert f"where:    {again}" in stderr
    assert f"next:     krucible replay {red} --symbolic --kafka-version 3.7.1" in stderr
    assert cli.invoke([*words, "--bisect"]) == 128
    red.rename(tmp_path / "elsewhere")
    capsys.readouterr()
    assert cli.invoke(words) == 64
    stderr = capsys.readouterr().err
    assert "got:      a replay of run abc" in stderr
    assert "next:     name that run's folder" in stderr


def test_a_symbolic_replay_has_its_roles_still(red: Path, having: Having) -> None:
    again = replay_of(red, having, "--symbolic")
    fake = having(RED)
    assert cli.invoke(["replay", str(again), "--symbolic"]) == 0
    assert fake.plans[0].schedule == planned(ZOMBIE, kafka_version="3.6.2").schedule


def test_a_replay_of_a_replay_is_reported(
    red: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    again = replay_of(red, having)
    capsys.readouterr()
    having(RED)
    assert cli.invoke(["replay", str(again)]) == 0
    assert f"note       that run is itself a replay, of {red}; this command" in capsys.readouterr().out
