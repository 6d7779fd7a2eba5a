"""Digests of schedules and scenarios: what changes them, and what does not."""

import msgspec
import pytest
from msgspec.structs import replace

from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.digest import digest_of
from harness.plan.planning import RunOptions, plan_run
from harness.plan.schedule import plan as drawn
from harness.vocabulary import Mode, Topology


def test_a_schedule_is_known_by_what_it_plans() -> None:
    plan = plan_run(RunOptions(scenario="exploratory/chaos", seed=3))
    again = plan_run(RunOptions(scenario="exploratory/chaos", seed=3, rate=7))
    assert digest_of(plan.schedule) == digest_of(again.schedule)
    other = drawn(plan.scenario.schedule, plan.scenario.topology, 4)
    assert digest_of(plan.schedule) != digest_of(other)


def test_a_schedule_is_known_by_the_former_names_of_its_moves() -> None:
    """The digest was computed when moves still had these names."""
    plan = plan_run(RunOptions(scenario="exploratory/gambits-epochs", seed=7, duration_s=60))
    assert digest_of(plan.schedule) == "694709ea406e"


def test_every_scenario_of_the_catalogue_has_a_digest_of_its_own() -> None:
    scenarios = [load_scenario(name) for name in scenario_names()]
    assert len({digest_of(scenario) for scenario in scenarios}) == len(scenarios)


@pytest.mark.parametrize(
    "change", [{"keeps_draws": True}, {"summary": "Other."}, {"topology": Topology(mode=Mode.ISOLATED)}]
)
def test_each_part_of_a_scenario_counts(change: dict[str, object]) -> None:
    scenario = load_scenario("smoke/partition")
    assert digest_of(replace(scenario, **change)) != digest_of(scenario)


class Before(msgspec.Struct, frozen=True, tag="word"):
    kept: int


class Since(msgspec.Struct, frozen=True, tag="word"):
    kept: int
    new: tuple[int, ...] = ()


def test_neither_a_new_field_nor_a_new_name_of_a_type_counts() -> None:
    assert digest_of(Since(7)) == digest_of(Before(7))
    assert digest_of(Since(7, (1,))) != digest_of(Before(7))
