"""A red run made smaller on real clusters: an old Kafka's bug, from a scenario file, resumed once."""

import json
from pathlib import Path

import pytest

from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.plan.planning import RunOptions, plan_run
from harness.plan.scenario_files import load_file, name_of
from harness.plan.writing import write_scenario
from harness.vocabulary import (
    Among,
    FixedSchedule,
    LogWorkload,
    Mode,
    Partition,
    Pattern,
    Quorum,
    Scenario,
    Step,
    Target,
    Topology,
)
from results.store.runs import load_identity, load_verdict
from tests.harness.recorded_run import a_verdict, store_run

pytestmark = pytest.mark.cluster
ZOMBIE = Scenario(
    "Cut the active controller off from the other controllers.",
    "Before 3.7.0 it goes on leading (KAFKA-15489).",
    FixedSchedule(
        (
            Step(
                3_000,
                9_000,
                Partition(Pattern.ISOLATE_ONE, Target.ACTIVE_CONTROLLER, among=Among.CONTROLLERS),
            ),
        ),
        16_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=1, quorum=Quorum.STATIC),
    workload=LogWorkload(rate=100),
    kafka_version="3.6.2",
)


def test_a_bug_of_an_old_kafka_comes_back_and_what_shows_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, runs = tmp_path / "zombie.py", tmp_path / "runs"
    file.write_text(write_scenario(ZOMBIE, "A zombie leader, soon."))
    plan = plan_run(RunOptions(scenario=name_of(file), seed=7, scenario_file=str(file)))
    found = a_verdict(Validity.INVALID, "zombie-leader")
    red = store_run(runs / plan.options.scenario / "20261122T010000Z-7", plan, found, [])

    asked = ["minimise", str(red), "--runs", str(runs), "--confirm", "0"]
    assert invoke([*asked, "--runs-at-most", "1"]) == 2
    assert invoke([*asked, "--runs-at-most", "2"]) == 2
    assert "minimised  zombie-leader: 3 of 3" in capsys.readouterr().out

    folder = red / "minimised/zombie-leader"
    tried = json.loads((folder / "state.json").read_text())["tried"]
    assert [each["outcome"] for each in tried] == ["shown"] * 3
    for each in tried:
        made = Path(each["folder"])
        assert load_identity(made).replay_of == "abc"
        assert load_verdict(made).validity is Validity.INVALID
    again = load_file(folder / "scenario.py")
    assert again.schedule == plan.schedule
    assert again.keeps_draws
