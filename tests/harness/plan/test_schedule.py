"""Schedules are functions of their seed, and what they plan can be carried out and judged."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.random_schedules import DISKS, LEAD_MS, OPERATIONS, TAIL_MS, least_operations
from harness.plan.schedule import changes_features, decode, encode, faults_of, plan, problems_of
from harness.vocabulary import (
    AlterBroker,
    AlterBrokers,
    AlterSome,
    Among,
    CancelSome,
    DeadDisk,
    DiskKind,
    FixedSchedule,
    Inject,
    Kill,
    LossPattern,
    Majority,
    Member,
    Mode,
    PacketLoss,
    Partition,
    Pass,
    Pattern,
    Perform,
    PowerLoss,
    RandomSchedule,
    ReassignSome,
    ScriptedSchedule,
    Step,
    Target,
    TimedOperation,
    Topology,
    UpdateFeature,
    WipeDisk,
    broker,
)
from harness.vocabulary.faults import OfDisk
from tests.harness.plan.kinds import of_kind

SEEDS = st.integers(min_value=0, max_value=2**63)


@given(SEEDS)
def test_the_same_seed_gives_the_same_bytes(seed: int) -> None:
    chaos = RandomSchedule()

    assert encode(plan(chaos, Topology(), seed)) == encode(plan(chaos, Topology(), seed))


@given(SEEDS)
def test_a_written_schedule_reads_back_as_it_was(seed: int) -> None:
    planned = plan(RandomSchedule(), Topology(mode=Mode.ISOLATED), seed)

    assert decode(encode(planned)) == planned


def test_seeds_differ() -> None:
    drawn = {encode(plan(RandomSchedule(), Topology(), seed)) for seed in range(50)}

    assert len(drawn) == 50


@given(SEEDS, st.sampled_from([Mode.COMBINED, Mode.ISOLATED]), st.integers(30_000, 300_000))
def test_random_steps_leave_load_before_and_after_every_fault(
    seed: int, mode: Mode, duration_ms: int
) -> None:
    schedule = RandomSchedule(duration_ms=duration_ms)
    planned = of_kind(FixedSchedule, plan(schedule, Topology(mode=mode), seed))

    assert planned.steps, "room for a fault is filled"
    assert min(step.at_ms for step in planned.steps) >= 3_000
    assert max(step.at_ms + step.hold_ms for step in planned.steps) <= duration_ms - TAIL_MS
    assert all(step.hold_ms >= schedule.hold_ms[0] for step in planned.steps)


@given(SEEDS, st.sampled_from([Mode.COMBINED, Mode.ISOLATED]))
def test_random_steps_draw_only_what_the_topology_can_have(seed: int, mode: Mode) -> None:
    topology = Topology(mode=mode)
    planned = of_kind(FixedSchedule, plan(RandomSchedule(), topology, seed))

    assert not [step for step in planned.steps if step.fault.unavailable_because(topology)]


def test_kinds_can_be_chosen() -> None:
    schedule = RandomSchedule(kinds=("pause",), duration_ms=200_000)
    planned = of_kind(FixedSchedule, plan(schedule, Topology(), 1))

    assert {msgspec.to_builtins(step.fault)["kind"] for step in planned.steps} == {"pause"}


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_can_be_planned_with_its_own_topology(name: str) -> None:
    scenario = load_scenario(name)
    planned = plan(scenario.schedule, scenario.topology, 7)

    assert decode(encode(planned)) == planned
    assert not [fault for fault in faults_of(planned) if fault.unavailable_because(scenario.topology)]
    if isinstance(scenario.schedule, FixedSchedule):
        assert isinstance(planned, FixedSchedule)
        assert [step.at_ms for step in planned.steps] == [step.at_ms for step in scenario.schedule.steps]


def steps_of(schedule: RandomSchedule, topology: Topology, seed: int) -> tuple[Step, ...]:
    planned = plan(schedule, topology, seed)
    assert isinstance(planned, FixedSchedule)
    return planned.steps


ALL_DISKS = dict.fromkeys(DISKS, 1)
LONG = RandomSchedule(duration_ms=300_000)


@given(SEEDS, st.sampled_from([Mode.COMBINED, Mode.ISOLATED]))
def test_disks_take_the_places_of_other_faults(seed: int, mode: Mode) -> None:
    topology = Topology(mode=mode, disk=DiskKind.LOOP_XFS, log_dirs=2)
    schedule = msgspec.structs.replace(LONG, disks=ALL_DISKS)
    assert plan(schedule, topology, seed) == plan(schedule, topology, seed)
    steps, before = steps_of(schedule, topology, seed), steps_of(LONG, topology, seed)
    for step, other in zip(steps, before, strict=True):
        longer_ms = LONG.gap_ms[0] if isinstance(step.fault, DeadDisk) else 0
        last_ms = LONG.duration_ms - TAIL_MS - step.at_ms
        assert step.at_ms == other.at_ms
        assert step.hold_ms == min(other.hold_ms + longer_ms, last_ms)
        if isinstance(step.fault, OfDisk):
            assert step.fault.sparing
            assert step.fault.unavailable_because(topology) is None
        else:
            assert step == other


@given(SEEDS, st.sampled_from([Mode.COMBINED, Mode.ISOLATED]))
def test_losses_of_packets_take_the_places_of_other_faults(seed: int, mode: Mode) -> None:
    topology = Topology(mode=mode, disk=DiskKind.LOOP_XFS)
    schedule = msgspec.structs.replace(LONG, loss_share=0.5)
    assert encode(plan(schedule, topology, seed)) == encode(plan(schedule, topology, seed))
    steps, before = steps_of(schedule, topology, seed), steps_of(LONG, topology, seed)
    for step, other in zip(steps, before, strict=True):
        assert (step.at_ms, step.hold_ms) == (other.at_ms, other.hold_ms)
        assert isinstance(step.fault, PacketLoss) or step == other
        assert step.fault.unavailable_because(topology) is None
    struck = msgspec.structs.replace(schedule, disks=ALL_DISKS)
    for step, other in zip(steps_of(struck, topology, seed), steps, strict=True):
        assert isinstance(step.fault, OfDisk) or step == other, "disks are drawn as without losses"


def test_every_kind_of_loss_is_drawn() -> None:
    schedule = msgspec.structs.replace(LONG, loss_share=1.0)
    alone = msgspec.structs.replace(LONG, kinds=("packet-loss",))
    for drawn in (schedule, alone):
        steps = [step for seed in range(5) for step in steps_of(drawn, Topology(mode=Mode.ISOLATED), seed)]
        losses = [step.fault for step in steps if isinstance(step.fault, PacketLoss)]
        assert len(losses) == len(steps)
        assert {loss.pattern for loss in losses} == set(LossPattern)
        assert {loss.among for loss in losses} == set(Among)
        assert all(10 <= loss.percent <= 70 for loss in losses)
    small = Topology(mode=Mode.ISOLATED, controllers=1, brokers=3)
    assert not [one for one in steps_of(schedule, small, 3) if one.fault.unavailable_because(small)]


def test_every_kind_of_disk_is_drawn_that_the_topology_can_have() -> None:
    schedule = msgspec.structs.replace(LONG, disks=ALL_DISKS, disk_share=1.0)
    faults = [
        step.fault
        for seed in range(5)
        for step in steps_of(schedule, Topology(disk=DiskKind.LOOP_XFS, log_dirs=2), seed)
    ]
    assert {fault.log_dir for fault in faults if isinstance(fault, WipeDisk)} == {None, 1, 2}
    assert {fault.by for fault in faults if isinstance(fault, WipeDisk)} == {"kill", "stop"}
    assert {fault.target for fault in faults if isinstance(fault, WipeDisk)} == {
        Target.BROKER,
        Target.QUORUM_FOLLOWER,
        Target.ACTIVE_CONTROLLER,
    }
    assert any(isinstance(fault, PowerLoss) for fault in faults)
    assert {fault.log_dir for fault in faults if isinstance(fault, DeadDisk)} == {1, 2}
    plain = [step.fault for seed in range(5) for step in steps_of(schedule, Topology(), seed)]
    assert all(isinstance(fault, WipeDisk) and fault.log_dir is None for fault in plain)
    power = msgspec.structs.replace(LONG, disks={"power": 1}, disk_share=1.0)
    assert steps_of(power, Topology(), 5) == steps_of(LONG, Topology(), 5)


@given(SEEDS, st.integers(1, 5), st.sampled_from([Mode.COMBINED, Mode.ISOLATED]))
def test_a_majority_that_is_to_be_lost_is_lost_each_time(seed: int, controllers: int, mode: Mode) -> None:
    topology = Topology(mode=mode, controllers=controllers, brokers=controllers)
    schedule = msgspec.structs.replace(LONG, majority=Majority.LOST, kinds=("partition", "kill", "pause"))
    struck: dict[int, set[Member]] = {}
    for step in steps_of(schedule, topology, seed):
        assert isinstance(step.fault.target, Member)
        assert not isinstance(step.fault, Partition) or step.fault.pattern is Pattern.ISOLATE_ONE
        struck.setdefault(step.at_ms, set()).add(step.fault.target)
    assert struck
    for members in struck.values():
        assert len(members) == controllers // 2 + 1
        assert all(member.of(topology.nodes()) for member in members)
    times = sorted(struck)
    assert all(late - early >= schedule.hold_ms[0] + schedule.gap_ms[0] for early, late in pairwise(times))


def test_operations_leave_a_schedules_faults_as_they_are() -> None:
    without = plan(RandomSchedule(duration_ms=120_000), Topology(), 5)
    weights = dict.fromkeys(OPERATIONS, 1)
    planned = plan(RandomSchedule(duration_ms=120_000, operations=weights), Topology(), 5)
    assert isinstance(planned, FixedSchedule)
    assert faults_of(planned) == faults_of(without)
    times = [act.at_ms for act in planned.acts]
    assert len(times) > 10
    assert times == sorted(times)
    assert LEAD_MS < times[0] <= times[-1] < 120_000 - TAIL_MS
    assert {type(act.operation) for act in planned.acts} == {type(one) for one in OPERATIONS.values()}


def test_changes_leave_a_schedules_faults_and_other_operations_as_they_are() -> None:
    schedule = RandomSchedule(duration_ms=120_000, operations={"reassign": 1})
    before = plan(schedule, Topology(), 5)
    planned = plan(msgspec.structs.replace(schedule, changes={"alter": 1}), Topology(), 5)
    assert isinstance(before, FixedSchedule)
    assert isinstance(planned, FixedSchedule)
    assert planned.steps == before.steps
    assert tuple(act for act in planned.acts if isinstance(act.operation, ReassignSome)) == before.acts
    assert sum(isinstance(act.operation, AlterSome) for act in planned.acts) > 5
    times = [act.at_ms for act in planned.acts]
    assert times == sorted(times)


def test_weights_decide_what_is_drawn() -> None:
    planned = plan(RandomSchedule(duration_ms=300_000, operations={"cancel": 1}), Topology(), 5)
    assert isinstance(planned, FixedSchedule)
    assert {type(act.operation) for act in planned.acts} == {CancelSome}
    assert len({act.operation for act in planned.acts}) > 10


def test_scripts_and_fixed_acts_take_their_draws_from_the_seed() -> None:
    script = ScriptedSchedule((Inject("a", Kill()), Perform(ReassignSome()), Pass(5)), 10)
    fixed = FixedSchedule(
        (), 10, (TimedOperation(1, ReassignSome()), TimedOperation(2, UpdateFeature("x", 1)))
    )
    for schedule in (script, fixed):
        assert plan(schedule, Topology(), 3) == plan(schedule, Topology(), 3) != schedule
        assert plan(schedule, Topology(), 3) != plan(schedule, Topology(), 4)
    planned = plan(fixed, Topology(), 3)
    assert isinstance(planned, FixedSchedule)
    assert planned.acts[1] == fixed.acts[1]


@pytest.mark.parametrize(
    ("drawn", "least"), [(0, None), (1, None), (2, 1), (3, 1), (4, 1), (5, 2), (6, 2), (7, 2), (90, 2)]
)
def test_a_third_of_the_operations_that_were_drawn_is_to_be_answered_at_most(
    drawn: int, least: int | None
) -> None:
    asked = RandomSchedule(operations={"reassign": 1, "cancel": 1}, operations_min={"reassign": 2})
    acts = [TimedOperation(at_ms, ReassignSome(draw=at_ms)) for at_ms in range(drawn)]
    assert least_operations(asked, [*acts, TimedOperation(5, CancelSome())]).get("reassign") == least


def with_default(config: str) -> list[FixedSchedule | ScriptedSchedule]:
    """Schedules that set the default of a config for all brokers."""
    operation = AlterBrokers(config, "1")
    return [
        ScriptedSchedule((Pass(5), Perform(operation)), 10),
        FixedSchedule((), 10, (TimedOperation(5, operation),)),
    ]


@pytest.mark.parametrize("schedule", with_default("unclean.leader.election.enable"))
def test_a_default_of_brokers_that_no_checker_follows_is_refused(
    schedule: FixedSchedule | ScriptedSchedule,
) -> None:
    (problem,) = problems_of(schedule)
    assert "the default of unclean.leader.election.enable for all brokers" in problem
    assert "they follow min.insync.replicas" in problem


@pytest.mark.parametrize("schedule", with_default("min.insync.replicas"))
def test_a_default_of_brokers_that_checkers_follow_is_permitted(
    schedule: FixedSchedule | ScriptedSchedule,
) -> None:
    assert problems_of(schedule) == []


@pytest.mark.parametrize(("config", "problems"), [("cordoned.log.dirs", 0), ("log.retention.ms", 1)])
def test_configs_of_one_broker_that_checkers_follow_are_permitted(config: str, problems: int) -> None:
    script = ScriptedSchedule((Perform(AlterBroker(broker(1), config, "*")),), 10)
    found = problems_of(script)
    assert len(found) == problems
    assert all("sets log.retention.ms of one broker" in problem for problem in found)


def test_a_schedule_that_changes_features_is_known() -> None:
    script = ScriptedSchedule((Perform(ReassignSome()), Perform(UpdateFeature("x", 1))), 10)
    assert changes_features(script)
    assert not changes_features(ScriptedSchedule((Perform(ReassignSome()),), 10))


def test_schedules_of_earlier_versions_are_written_as_before() -> None:
    written = msgspec.to_builtins(UpdateFeature("metadata.version"))
    assert written == {"kind": "update-feature", "feature": "metadata.version", "level": None}
