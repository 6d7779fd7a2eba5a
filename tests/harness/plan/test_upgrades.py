"""Which versions of Kafka a run needs: those that nodes begin with, and those that upgrades bring."""

import msgspec
import pytest

from harness.errors import UsageError
from harness.plan import planning
from harness.plan.catalogue import load_scenario
from harness.plan.planning import RunOptions, plan_run
from harness.plan.schedule import Planned
from harness.plan.upgrades import later_versions, other_versions, upgrade_problems, versions_of
from harness.vocabulary import FixedSchedule, Heal, Inject, Kill, ScriptedSchedule, Step, Topology, Upgrade
from harness.vocabulary.version import DEFAULT_VERSION

THERE_AND_BACK = ScriptedSchedule(
    (Inject("up", Upgrade()), Heal("up"), Inject("down", Upgrade(version="4.1.1")), Heal("down")), 10
)
OLD = Topology(start_version="3.9.0")


@pytest.mark.parametrize(
    ("schedule", "versions"),
    [
        (THERE_AND_BACK, ("4.1.1", "4.3.1")),
        (FixedSchedule((Step(0, 5, Upgrade(version="4.0.0")), Step(9, 5, Kill())), 20), ("4.0.0",)),
        (FixedSchedule((Step(0, 5, Kill()),), 20), ()),
    ],
    ids=["script", "fixed", "no upgrade"],
)
def test_the_versions_that_upgrades_bring(schedule: Planned, versions: tuple[str, ...]) -> None:
    assert later_versions(schedule, "4.3.1") == versions


def test_every_version_of_a_run_is_known() -> None:
    assert versions_of(THERE_AND_BACK, OLD, "4.3.1") == {"3.9.0", "4.1.1", "4.3.1"}
    assert other_versions(OLD, "4.3.1") == dict.fromkeys(("n1", "n2", "n3"), "3.9.0")
    assert other_versions(OLD, "3.9.0") == other_versions(Topology(), "4.3.1") == {}


def test_a_rolling_upgrade_wants_the_images_of_both_versions() -> None:
    plan = plan_run(RunOptions(scenario="upgrades/rolling", seed=1))
    assert [image.version for image in plan.images] == [DEFAULT_VERSION, "3.9.0"]
    earlier = plan_run(RunOptions(scenario="upgrades/rolling", seed=1, kafka_version="4.1.1"))
    assert [image.version for image in earlier.images] == ["4.1.1", "3.9.0"]


def test_what_a_version_can_not_do_is_reported_before_it_is_brought() -> None:
    back = ScriptedSchedule((Inject("down", Upgrade(version="3.8.1")),), 10)
    (problem,) = upgrade_problems(back, OLD, "4.3.1", None)
    assert problem.startswith("Kafka 3.8.1 has no dynamic quorum")
    nothing = ScriptedSchedule((Inject("down", Upgrade(version="latest")),), 10)
    assert upgrade_problems(nothing, OLD, "4.3.1", None) == ["'latest' is not a Kafka version such as 4.3.1"]
    assert upgrade_problems(THERE_AND_BACK, OLD, "4.3.1", None) == []


def test_a_bug_is_of_one_version() -> None:
    problems = upgrade_problems(THERE_AND_BACK, OLD, "4.3.1", "min-isr-ignored")
    assert problems == ["a seeded bug is of one version of Kafka, these nodes have 3.9.0, 4.1.1, 4.3.1"]
    assert upgrade_problems(FixedSchedule((), 1), Topology(), "4.3.1", "min-isr-ignored") == []


def test_a_scenario_with_an_upgrade_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    written = load_scenario("upgrades/rolling")
    back = ScriptedSchedule((Inject("down", Upgrade(version="3.8.1")),), 10)
    bad = msgspec.structs.replace(written, schedule=back)
    monkeypatch.setattr(planning, "load_scenario", lambda _: bad)
    with pytest.raises(UsageError) as caught:
        plan_run(RunOptions(scenario="upgrades/rolling", seed=1))
    assert "Kafka 3.8.1 has no dynamic quorum" in str(caught.value.got)
