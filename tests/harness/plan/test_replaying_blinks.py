"""Blinks of a recorded run come back at the same nodes at their times of then."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from harness.faults.activate import as_value
from harness.faults.cuts import cuts
from harness.faults.partition import takes_part
from harness.plan.replaying import MisfitError, Resolution, resolution_of
from harness.plan.schedule import decode, encode
from harness.vocabulary import (
    Among,
    Fault,
    FixedSchedule,
    Kill,
    Mode,
    Partition,
    Pattern,
    Pause,
    Step,
    Target,
    Topology,
    broker,
)
from tests.harness.recorded_run import Recording

OK, INFO, FAIL, INVOKE = OperationType.OK, OperationType.INFO, OperationType.FAIL, OperationType.INVOKE
NODES = Topology(mode=Mode.ISOLATED).nodes()
ALONE = Step(4_000, 6_000, Kill(broker(3)))
SOMEBODY = Pause(Target.PARTITION_LEADER, 3)
LINK = Partition(Pattern.LINK, Target.BROKER, among=Among.BROKERS, draw=6)


def schedule(*faults: Fault) -> FixedSchedule:
    blinks = tuple(Step(5_000 + 1_000 * place, 300, fault) for place, fault in enumerate(faults))
    return FixedSchedule((ALONE,), 30_000, blinks=blinks)


def resolved(planned: FixedSchedule, recording: Recording) -> Resolution:
    nemesis = Recording("nemesis")
    nemesis.fault("f1", ALONE.fault, "b3", (4_500, 4_600, 10_600))
    operations = [*nemesis.operations, *recording.operations]
    history = History("abc", "", tuple(sorted(operations, key=lambda o: o.time_ns)))
    found = resolution_of(planned, history, NODES)
    assert decode(encode(found.schedule)) == found.schedule, "it can't be stored"
    return found


class Blinks(Recording):
    """What was recorded of blinks."""

    def __init__(self) -> None:
        super().__init__("nemesis-blinks")

    def played(
        self, name: str, fault: Fault, target: str, at_ms: int, *, cut: Any = (), kind: OperationType = OK
    ) -> None:
        value = {"kind": as_value(fault)["kind"], "spec": as_value(fault), "blink": True}
        known = value | {"targets": [target], "cut": cut, "resolved_by": "role"}
        self.add(at_ms, INVOKE, "inject", name, value)
        self.add(at_ms + 100, kind, "inject", name, known)
        self.add(at_ms + 350, INVOKE, "heal", name, value)
        self.add(at_ms + 400, OK, "heal", name, known)

    def refused(self, name: str, fault: Fault, at_ms: int, why: str = "held") -> None:
        value = {"kind": as_value(fault)["kind"], "spec": as_value(fault), "blink": True}
        self.add(at_ms, INVOKE, "inject", name, value)
        self.add(at_ms, FAIL, "inject", name, value | {"refused": why})


def test_whom_they_hit_is_named_and_they_come_and_go_as_then() -> None:
    recording = Blinks()
    recording.played("blink1", SOMEBODY, "b2", 5_600)
    recording.played("blink2", SOMEBODY, "c1", 6_800, kind=INFO)
    recording.refused("blink3", SOMEBODY, 7_500)
    found = resolved(schedule(SOMEBODY, SOMEBODY, SOMEBODY, SOMEBODY), recording)
    assert isinstance(found.schedule, FixedSchedule)
    first, second = found.schedule.blinks
    # The schedule began at 500.
    assert (first.at_ms, first.hold_ms, first.fault) == (5_100, 250, Pause(broker(2), 3))
    assert (second.at_ms, second.hold_ms) == (6_300, 300), "what was not proven is held as planned"
    assert found.notes == ("2 of 4 blinks of the recorded run hit no node and are left out",)


def test_the_load_lasts_as_long_as_the_last_blink_of_then() -> None:
    recording = Blinks()
    recording.played("blink1", SOMEBODY, "b2", 30_400)
    found = resolved(schedule(SOMEBODY), recording).schedule
    assert isinstance(found, FixedSchedule)
    (blink,) = found.blinks
    assert found.duration_ms == blink.at_ms + blink.hold_ms == 30_150


@pytest.mark.parametrize("other", ["b1", "b3"])
def test_a_link_has_the_same_two_ends(other: str) -> None:
    cut = [["b2", other], [other, "b2"]]
    recording = Blinks()
    recording.played("blink1", LINK, "b2", 5_600, cut=cut)
    found = resolved(schedule(LINK), recording).schedule
    assert isinstance(found, FixedSchedule)
    (again,) = found.blinks
    assert isinstance(again.fault, Partition)
    names = tuple(node.name for node in NODES if takes_part(again.fault, node))
    assert [list(pair) for pair in cuts(Pattern.LINK, names, "b2", again.fault.draw)] == sorted(cut)


def test_a_node_that_is_no_more_is_reported() -> None:
    recording = Blinks()
    recording.played("blink1", SOMEBODY, "b9", 5_600)
    with pytest.raises(MisfitError, match="b9 is not among"):
        resolved(schedule(SOMEBODY), recording)
