"""Blinks are drawn from the seed, beside a schedule that stays as it is without them."""

import hashlib
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.plan.blinks import BLINKS
from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.planning import RunOptions, plan_run
from harness.plan.random_schedules import LEAD_MS, TAIL_MS
from harness.plan.schedule import blinks_of, decode, encode, faults_alone, faults_of, plan, planned_ms
from harness.vocabulary import (
    FixedSchedule,
    Inject,
    LostAnswers,
    Mode,
    Partition,
    Pattern,
    Pause,
    RandomSchedule,
    ScriptedSchedule,
    Step,
    Topology,
)

SEEDS = st.integers(min_value=0, max_value=2**63)
ALL = dict.fromkeys(BLINKS, 1)
BLINKING = RandomSchedule(duration_ms=120_000, disks={"power": 1}, operations={"reassign": 1}, blinks=ALL)
AS_BEFORE = {
    "smoke": "fa772bc690799a7bfde850ddaa8aa408d8e2ad5d7aaaa56effe9009464c50c25",
    "random": "eace61a69911bda05baf670378de89100a0e4f5afb23c7a5fa83e10e7625c7ad",
    "gambits": "e128a8b58d2d53d008fe8e5f3047e28a929433d71bbca8d90a46bd96431ad2c0",
}
"""Digests of the bytes that were planned before there were blinks."""


def planned(schedule: RandomSchedule, topology: Topology, seed: int) -> FixedSchedule:
    found = plan(schedule, topology, seed)
    assert isinstance(found, FixedSchedule)
    return found


@given(SEEDS, st.sampled_from([Mode.COMBINED, Mode.ISOLATED]))
def test_the_same_seed_gives_the_same_bytes_and_the_rest_of_the_schedule_stays(seed: int, mode: Mode) -> None:
    topology = Topology(mode=mode)
    with_blinks = planned(BLINKING, topology, seed)
    assert encode(with_blinks) == encode(planned(BLINKING, topology, seed))
    assert decode(encode(with_blinks)) == with_blinks
    without = planned(msgspec.structs.replace(BLINKING, blinks={}), topology, seed)
    assert msgspec.structs.replace(with_blinks, blinks=()) == without
    assert b"blinks" not in encode(without)
    assert faults_of(with_blinks) == (*faults_of(without), *(blink.fault for blink in with_blinks.blinks))
    assert faults_alone(with_blinks) == faults_alone(without)


@given(SEEDS, st.integers(1, 5), st.integers(1, 5), st.sampled_from([Mode.COMBINED, Mode.ISOLATED]))
def test_they_come_one_after_the_other_and_are_such_as_the_topology_can_have(
    seed: int, controllers: int, brokers: int, mode: Mode
) -> None:
    controllers = brokers if mode is Mode.COMBINED else controllers
    topology = Topology(mode=mode, controllers=controllers, brokers=brokers)
    blinks = planned(BLINKING, topology, seed).blinks
    assert blinks[0].at_ms > LEAD_MS
    assert blinks[-1].at_ms + blinks[-1].hold_ms <= BLINKING.duration_ms - TAIL_MS
    for blink, later in pairwise(blinks):
        low, high = BLINKING.blink_gap_ms
        assert low <= later.at_ms - blink.at_ms - blink.hold_ms <= high
    for blink in blinks:
        low, high = BLINKING.blink_hold_ms
        assert low <= blink.hold_ms <= high
        assert blink.fault.unavailable_because(topology) is None


def test_every_kind_is_drawn_and_enough_of_them() -> None:
    for topology in (Topology(), Topology(mode=Mode.ISOLATED)):
        blinks = [blink.fault for seed in range(5) for blink in planned(BLINKING, topology, seed).blinks]
        assert len(blinks) >= 5 * 36
        assert {type(fault).__name__ for fault in blinks} >= {"Pause", "LostAnswers", "HeldRequests"}
        cut = {fault.pattern for fault in blinks if isinstance(fault, Partition)}
        assert cut == {Pattern.LINK, Pattern.ISOLATE_ONE}
    assert not [f for seed in range(5) for f in faults_alone(planned(BLINKING, Topology(), seed))
                if isinstance(f, Partition) and f.pattern is Pattern.LINK]  # fmt: skip


def test_weights_decide_what_is_drawn() -> None:
    for name, kind in (("pause", Pause), ("lost-answers", LostAnswers)):
        blinks = planned(msgspec.structs.replace(BLINKING, blinks={name: 1}), Topology(), 1).blinks
        assert {type(blink.fault) for blink in blinks} == {kind}
    alone = Topology(controllers=1, brokers=1)
    assert planned(msgspec.structs.replace(BLINKING, blinks={"link": 1, "isolate": 1}), alone, 1).blinks == ()


def test_they_are_named_in_the_order_of_time() -> None:
    late, early = Step(5, 1, Pause()), Step(2, 1, Pause())
    assert blinks_of(FixedSchedule((), 9, blinks=(late, early))) == [("blink1", early), ("blink2", late)]


def test_planned_durations_have_the_names_of_faults_in_the_history() -> None:
    steps = (Step(900, 70, Pause()), Step(100, 80, Pause()))
    schedule = FixedSchedule(steps, 9, blinks=(Step(5, 1, Pause()),))
    assert planned_ms(schedule) == {"f1": 80, "f2": 70, "blink1": 1}
    assert planned_ms(ScriptedSchedule((Inject("f1", Pause()),), 9)) == {}


DRAWN = [name for name in scenario_names() if isinstance(load_scenario(name).schedule, RandomSchedule)]


@pytest.mark.parametrize("name", DRAWN)
def test_whoever_asks_for_single_faults_gets_no_blinks(name: str) -> None:
    schedule = load_scenario(name).schedule
    assert isinstance(schedule, RandomSchedule)
    options = RunOptions(scenario=name, seed=1, duration_s=90)
    drawn = plan_run(options).schedule
    assert bool(blinks_of(drawn)) is bool(schedule.blinks)
    chosen = msgspec.structs.replace(options, fault=("kill",))
    assert blinks_of(plan_run(chosen).schedule) == []


def test_an_unknown_blink_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load_scenario("exploratory/chaos")
    assert isinstance(scenario.schedule, RandomSchedule)
    odd = msgspec.structs.replace(scenario.schedule, blinks={"wink": 1})
    changed = msgspec.structs.replace(scenario, schedule=odd)
    monkeypatch.setattr("harness.plan.planning.load_scenario", lambda _: changed)
    with pytest.raises(UsageError) as caught:
        plan_run(RunOptions(scenario="exploratory/chaos", seed=1))
    assert "no blink is called wink; expected one of pause, link" in caught.value.got


@pytest.mark.parametrize("name", AS_BEFORE)
def test_the_bytes_of_schedules_without_blinks_are_those_of_before(name: str) -> None:
    schedules = {
        "smoke": load_scenario("smoke/partition").schedule,
        "random": RandomSchedule(duration_ms=120_000, disks={"broker-disk": 1}, changes={"alter": 1}),
        "gambits": RandomSchedule(duration_ms=120_000, gambits={"flapping": 1, "all-copies": 1}),
    }
    drawn = b"".join(encode(plan(schedules[name], Topology(mode=mode), 7)) for mode in Mode)
    assert hashlib.sha256(drawn).hexdigest() == AS_BEFORE[name]
