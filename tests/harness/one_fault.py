"""The demo with less load and the first of its faults alone, for what any run shows that is valid."""

import msgspec

from harness.plan import catalogue
from harness.vocabulary import FixedSchedule, Scenario, Step


def load_scenario(name: str) -> Scenario:
    """In the place of the catalogue's function: a scenario with as little as its assumptions ask for."""
    scenario = catalogue.load_scenario(name)
    assert isinstance(scenario.schedule, FixedSchedule)
    first = Step(2_000, scenario.assumptions.fault_held_ms + 500, scenario.schedule.steps[0].fault)
    schedule = FixedSchedule((first,), first.at_ms + first.hold_ms + 1_500)
    workload = msgspec.structs.replace(scenario.workload, rate=100)
    return msgspec.structs.replace(scenario, schedule=schedule, workload=workload)
