"""Wrong values of scenarios are all found, with the line that has them; the catalogue has none."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from harness import cli
from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.wrong_values import WrongValue, line_of, wrong_values
from harness.vocabulary import (
    FixedSchedule,
    Kill,
    RandomSchedule,
    Scenario,
    Step,
    Topology,
    TxnWorkload,
)

WRONG: Any = object()
WORD: Any = "kill"
FIXED = FixedSchedule((Step(4_000, 6_000, Kill(draw=9)),), 20_000)


def scenario(**fields: Any) -> Scenario:
    return replace(Scenario("A kill.", "It kills.", FIXED), **fields)


@pytest.mark.parametrize("name", scenario_names())
def test_no_scenario_of_the_catalogue_has_a_wrong_value(name: str) -> None:
    assert list(wrong_values(load_scenario(name))) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"summary": 3}, "summary is 3, expected str, got int"),
        ({"workload": TxnWorkload(partitions=-1)}, "workload.partitions is -1, expected int >= 1"),
        ({"workload": TxnWorkload(transactors=0)}, "workload.transactors is 0, expected int >= 1"),
        ({"workload": TxnWorkload(commit_share=3.0)}, "workload.commit_share is 3.0, expected float <= 1.0"),
        ({"workload": Kill()}, "expected Workload"),
        (
            {"topology": Topology(features={"kraft.version": WORD})},
            "expected int, got str in topology.features",
        ),
        (
            {"topology": Topology(config={"a": WRONG})},
            "expected numbers, texts and values of the vocabulary",
        ),
        (
            {"schedule": RandomSchedule(gap_ms=(9, 3))},
            "schedule.gap_ms is (9, 3), expected the shortest first",
        ),
        ({"schedule": RandomSchedule(gap_ms=(-1, 3))}, "expected int >= 0 in schedule.gap_ms[0]"),
        (
            {"schedule": RandomSchedule(gambits={"flapping": -1})},
            "expected int >= 0 in schedule.gambits[...]",
        ),
        ({"schedule": replace(FIXED, duration_ms=0)}, "schedule.duration_ms is 0, expected int >= 1"),
        ({"schedule": None}, "schedule is None, expected FixedSchedule or RandomSchedule or"),
    ],
)
def test_a_wrong_value_is_found(fields: dict[str, Any], expected: str) -> None:
    (found,) = wrong_values(scenario(**fields))
    assert expected in found.text()


def test_a_step_is_named_by_its_place() -> None:
    steps = (*FIXED.steps, Step(-1, 5_000, Kill()), Step(8_000, 5_000, WORD))
    found = [each.field for each in wrong_values(scenario(schedule=replace(FIXED, steps=steps)))]
    assert found == ["schedule.steps[1].at_ms", "schedule.steps[2].fault"]


SOURCE = """from harness.vocabulary import *
SCENARIO = Scenario(
    summary="A kill.",
    why="It kills.",
    schedule=FixedSchedule(steps=(), duration_ms=-5),
    topology=Topology(brokers="three"),
    workload=TxnWorkload(
        partitions=-2 + 1,
        rate=0,
    ),
)
"""


def test_a_run_is_refused_with_all_wrong_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(SOURCE)
    assert cli.invoke(["run", str(path), "--dry-run"]) == 64
    assert capsys.readouterr().err.splitlines()[1:5] == [
        "  got:      line 5: schedule.duration_ms is -5, expected int >= 1",
        "            line 6: topology.brokers is 'three', expected int, got str",
        "            workload.partitions is -1, expected int >= 1",
        "            line 9: workload.rate is 0, expected int >= 1",
    ]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"T(\n partitions=-1)", 2),
        (b"T(partitions=-1)\nU(partitions=-1)", None),
        (b"T(partitions=N)", None),
        (b"T(partitions=1)", None),
    ],
)
def test_a_line_is_named_only_if_it_is_certain(source: bytes, line: int | None) -> None:
    assert line_of(WrongValue("workload.partitions", -1, ""), source) == line
