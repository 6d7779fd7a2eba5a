"""Scenarios as files: every one that is written is read back as the same value, wrong files are refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness import cli
from harness.errors import UsageError
from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.planning import RunOptions, plan_run
from harness.plan.scenario_files import is_file, load_file, name_of
from harness.plan.writing import write_scenario
from harness.vocabulary import Expectation, FixedSchedule, Kill, Scenario, Step, Validity
from harness.vocabulary.version import DEFAULT_VERSION

SHORT = Scenario("A kill.", "It kills.", FixedSchedule((Step(4_000, 6_000, Kill(draw=9)),), 20_000))


def written(folder: Path, scenario: Scenario, docstring: str = "A scenario to try.") -> Path:
    path = folder / "tried.py"
    path.write_text(write_scenario(scenario, docstring), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_is_written_and_read_back_as_it_is_and_as_it_is_planned(
    name: str, tmp_path: Path
) -> None:
    scenario = load_scenario(name)
    plan = plan_run(RunOptions(scenario=name, seed=7))
    for each in (scenario, replace(plan.scenario, schedule=plan.schedule, keeps_draws=True)):
        path = written(tmp_path, each)
        assert load_file(path) == each
        assert max(len(line) for line in path.read_text().splitlines()) <= 110


@given(summary=st.text(), docstring=st.text(st.characters(codec="utf-8")))
def test_any_text_is_read_back(
    summary: str, docstring: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scenario = replace(SHORT, summary=summary, why=summary * 30)
    assert load_file(written(tmp_path_factory.mktemp("any"), scenario, docstring)) == scenario


def test_what_is_written_names_what_is_not_the_default() -> None:
    expected = replace(SHORT, expectations=(Expectation(Validity.INVALID, ("lost-write",)),))
    assert write_scenario(expected, "A kill that loses a write.") == (
        '"""A kill that loses a write."""\n\n'
        "from harness.vocabulary import (\n"
        "    Expectation,\n    FixedSchedule,\n    Kill,\n    Scenario,\n    Step,\n    Validity,\n)\n\n"
        "SCENARIO = Scenario(\n"
        '    summary="A kill.",\n'
        '    why="It kills.",\n'
        "    schedule=FixedSchedule("
        "steps=(Step(at_ms=4_000, hold_ms=6_000, fault=Kill(draw=9)),), duration_ms=20_000),\n"
        '    expectations=(Expectation(validity=Validity.INVALID, anomalies=("lost-write",)),),\n'
        ")\n"
    )


def test_the_seed_decides_the_draws_unless_they_are_kept(tmp_path: Path) -> None:
    kept = written(tmp_path, replace(SHORT, keeps_draws=True))
    asked = RunOptions(scenario=name_of(kept), seed=3, scenario_file=str(kept))
    plan = plan_run(asked)
    assert plan.schedule == SHORT.schedule
    assert plan.reproduce == f"krucible run {kept} --seed 3 --kafka-version {DEFAULT_VERSION}"
    written(tmp_path, SHORT)
    drawn = plan_run(asked).schedule
    assert isinstance(drawn, FixedSchedule)
    assert drawn.steps[0].fault.draw != 9
    random = replace(load_scenario("exploratory/chaos"), keeps_draws=True)
    written(tmp_path, random)
    with pytest.raises(UsageError, match="drop keeps_draws"):
        plan_run(asked)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/lost_writes.py", "files/lost-writes"), ("../..py", "files/scenario"), ("ü b.py", "files/b")],
)
def test_a_file_has_a_name_that_is_a_place_in_the_store(path: str, name: str) -> None:
    assert is_file(path)
    assert name_of(Path(path)) == name
    assert not is_file("smoke/partition")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\n", "SCENARIO is none"),
        ("SCENARIO = 5\n", "SCENARIO is a value of type int"),
        ("x = (\n", "line 1: '(' was never closed"),
        ("\nraise ValueError('no')\n", "line 2: ValueError: no"),
        ("import sys\nsys.exit(0)\n", "line 2: SystemExit: 0"),
        (
            write_scenario(SHORT, "A.").replace("4_000", '"soon"'),
            "line 13: schedule.steps[0].at_ms is 'soon', expected int, got str",
        ),
    ],
)
def test_a_file_without_a_scenario_is_refused(
    source: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(source)
    assert cli.invoke(["run", str(path), "--runs", str(tmp_path / "runs")]) == 64
    stderr = capsys.readouterr().err
    assert "that file has no scenario to run" in stderr
    assert expected in stderr
    assert str(path) in stderr
    assert "docs/write-a-scenario.md" in stderr


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["run", str(tmp_path / "nowhere.py")]) == 64
    assert "there is no such file" in capsys.readouterr().err
