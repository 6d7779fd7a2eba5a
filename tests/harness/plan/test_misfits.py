"""Schedules that name what is not there are refused, with the file and the line that does."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness import cli
from harness.campaigns.minimising.fitting import fits
from harness.errors import UsageError
from harness.plan import catalogue
from harness.plan.catalogue import folder_story, load_scenario
from harness.plan.misfits import Misfit, located, misfits_of
from harness.plan.planning import RunOptions, plan_run
from harness.vocabulary import (
    AddVoter,
    FixedSchedule,
    Gambit,
    InSync,
    Kill,
    Reassign,
    Scenario,
    Step,
    TimedOperation,
    Topology,
    broker,
    controller,
)
from harness.vocabulary.gambits import FaultAt, Given, InjectAll
from harness.vocabulary.moves import Await, Inject, ScriptedSchedule

THREE = Topology()
SOURCE = '''"""A kill of a node."""

from harness.vocabulary import FixedSchedule, Kill, Scenario, Step, broker

SCENARIO = Scenario(
    summary="A kill.",
    why="It kills.",
    schedule=FixedSchedule(
        (
            Step(4_000, 6_000, Kill(broker(1))),
            Step(AT, 6_000, Kill(broker(NODE))),
        ),
        duration_ms=30_000,
    ),
)
'''


def problems(schedule: FixedSchedule | ScriptedSchedule, topology: Topology = THREE) -> list[str]:
    return [misfit.problem for misfit in misfits_of(schedule, topology)]


def fixed(*steps: Step, acts: tuple[TimedOperation, ...] = ()) -> FixedSchedule:
    return FixedSchedule(steps, 30_000, acts)


def test_nodes_that_the_topology_has_and_times_within_the_load_are_fine() -> None:
    step = Step(24_000, 6_000, Kill(broker(3)))
    assert problems(fixed(step, acts=(TimedOperation(29_999, AddVoter(controller(3))),))) == []


def test_a_step_may_outlast_the_load() -> None:
    """The nemesis leaves it in force; runs that have recorded it are replayed and made smaller."""
    outlasting = fixed(Step(25_000, 6_000, Kill(broker(3))))
    assert problems(outlasting) == []
    assert fits(Scenario(summary="A kill.", why="It lasts.", schedule=outlasting))


def test_nodes_that_it_lacks_are_found_wherever_they_are_named() -> None:
    strike = InjectAll((FaultAt("b", broker(4), Kill()),))
    given = Given({"leader": broker(5)}, None)
    gambits = (Gambit(1_000, "odd", (given, strike), 9_000),)
    moves = Reassign((("log-0", 0, (1, 7)), ("log-0", 1, None)))
    schedule = replace(
        fixed(
            Step(1, 2, Kill(broker(0))),
            acts=(TimedOperation(1, AddVoter(controller(4))), TimedOperation(2, moves)),
        ),
        gambits=gambits,
        blinks=(Step(3, 4, Kill(broker(9))),),
    )
    assert problems(schedule) == [
        "step 1 names broker 0; the topology has 3",
        "act 1 names controller 4; the topology has 3",
        "act 2 names broker 7; the topology has 3",
        "gambit 1 names broker 5; the topology has 3",
        "gambit 1 names broker 4; the topology has 3",
        "blink 1 names broker 9; the topology has 3",
    ]
    script = ScriptedSchedule(
        (Inject("a", Kill(broker(1))), Await(InSync("log-0", 0, (broker(1), broker(8))))), 30_000
    )
    assert problems(script) == ["move 2 names broker 8; the topology has 3"]


def test_times_outside_the_load_are_found() -> None:
    late = fixed(
        Step(30_000, 6_000, Kill()),
        Step(-1, 6_000, Kill()),
        acts=(TimedOperation(30_000, AddVoter()),),
    )
    late = replace(late, gambits=(Gambit(31_000, "odd", (), 1_000),), blinks=(Step(29_900, 200, Kill()),))
    assert problems(late) == [
        "step 1 begins at 30 s; the load lasts 30 s",
        "step 2 begins at -0.001 s; the load lasts 30 s",
        "blink 1 begins at 29.9 s and ends at 30.1 s; the load lasts 30 s",
        "act 1 is asked for at 30 s; the load lasts 30 s",
        "gambit 1 begins at 31 s; the load lasts 30 s",
    ]


@pytest.mark.parametrize(
    ("at", "node", "expected"),
    [
        ("14_000", "9", "odd.py:11: step 2 names broker 9; the topology has 3"),
        ("14_000", "4 + 5", "odd.py: step 2 names broker 9; the topology has 3"),
        ("34_000", "2", "odd.py:11: step 2 begins at 34 s; the load lasts 30 s"),
    ],
)
def test_a_file_is_refused_with_the_line(
    at: str, node: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.py"
    path.write_text(SOURCE.replace("AT", at).replace("NODE", node))
    assert cli.invoke(["run", str(path), "--dry-run"]) == 64
    assert expected in capsys.readouterr().err


def test_options_that_take_a_node_away_are_refused_too() -> None:
    with pytest.raises(UsageError) as refused:
        plan_run(RunOptions(scenario="kips/kip-853-grow", seed=1, controllers=3))
    assert re.search(r"kip_853_grow\.py: move \d+ names controller 4; .* has 3", refused.value.got)


def test_a_file_that_is_gone_or_can_not_be_read_is_named_alone(tmp_path: Path) -> None:
    misfit = Misfit("step 1 is odd", ("Step",), 1)
    path = tmp_path / "gone.py"
    assert located(misfit, path) == f"{path}: step 1 is odd"
    path.write_text("x = (")
    assert located(misfit, path) == f"{path}: step 1 is odd"
    path.write_text("import a\n\na.Step(at_ms=1)\n")
    assert located(misfit, path) == f"{path}:3: step 1 is odd"


def test_a_line_is_reported_only_if_no_other_may_be_meant(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    late = Misfit("step 2 is late", ("Step",), 6_000)
    path.write_text("Step(1_000, 6_000, x)\nStep(6_000, 1_000, x)\n")
    assert located(late, path) == f"{path}:2: step 2 is late", "the first is held so long"
    path.write_text("Step(6_000, 6_000, x)\nStep(6_000, 1_000, x)\n")
    assert located(late, path) == f"{path}: step 2 is late"
    path.write_text("Member(Role.BROKER, 6_000)\nMember(role=Role.BROKER, number=5)\n")
    node = Misfit("step 2 names broker 5", ("broker", "Member"), 5)
    assert located(node, path) == f"{path}:2: step 2 names broker 5"
    assert located(node._replace(number=6_000), path).startswith(f"{path}:1: ")


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A catalogue of its own, whose one scenario is whole."""
    room = tmp_path / "room_of_odd_ones"
    (room / "smoke").mkdir(parents=True)
    for folder in (room, room / "smoke"):
        (folder / "__init__.py").write_text('"""Some scenarios."""\n')
    (room / "smoke/whole.py").write_text(SOURCE.replace("AT", "14_000").replace("NODE", "2"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(catalogue, "_ROOM", room.name)
    catalogue.scenario_names.cache_clear()
    yield room
    catalogue.scenario_names.cache_clear()
    for name in [name for name in sys.modules if name.startswith(room.name)]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\nx = (\n", "line 2: '(' was never closed"),
        ("\n\nraise ValueError('no')\n", "line 3: ValueError: no"),
        ("import nowhere_at_all\n", "line 1: ModuleNotFoundError"),
        ("SCENARIO = 5\n", "SCENARIO is int"),
        ("", "SCENARIO is NoneType"),
    ],
)
def test_a_broken_scenario_is_refused_by_its_file_and_line_and_the_others_are_listed(
    source: str, expected: str, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (room / "smoke/odd_one.py").write_text(source)
    with pytest.raises(UsageError, match="'smoke/odd-one' can't be loaded") as refused:
        load_scenario("smoke/odd-one")
    assert expected in refused.value.got
    assert refused.value.where == str(room / "smoke/odd_one.py")
    assert cli.invoke(["list", "--scenarios"]) == 0
    broken, whole = capsys.readouterr().out.splitlines()
    assert broken.startswith("smoke/odd-one  can't be loaded: ")
    assert whole.split() == ["smoke/whole", "A", "kill."]


@pytest.mark.parametrize("source", ["x = (\n", "raise ValueError('no')\n"])
def test_a_folder_that_can_not_be_imported_does_not_hide_the_others(
    source: str, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (room / "own").mkdir()
    (room / "own/__init__.py").write_text(source)
    (room / "own/fine.py").write_text(SOURCE.replace("AT", "14_000").replace("NODE", "2"))
    assert cli.invoke(["list", "--scenarios"]) == 0
    broken, whole = capsys.readouterr().out.splitlines()
    assert broken.startswith("own/fine     can't be loaded: ")
    assert whole.split() == ["smoke/whole", "A", "kill."]
    assert folder_story("own") == ""
