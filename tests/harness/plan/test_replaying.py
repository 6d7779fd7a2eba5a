"""From what a run recorded to a schedule that does the same to the same nodes."""

import pytest

from checkers.history.operations import History, OperationType
from harness.plan.misfits import misfits_of
from harness.plan.replaying import MisfitError, Resolution, differences, resolution_of
from harness.plan.schedule import Planned, decode, encode
from harness.vocabulary import (
    AddPartitions,
    AddVoter,
    AlterBroker,
    AlterBrokers,
    AlterGroup,
    AlterTopic,
    Await,
    ChangeVoters,
    ElectionType,
    ElectLeaders,
    ElectSome,
    FixedSchedule,
    Heal,
    Inject,
    Kill,
    LateHeartbeat,
    LeadsQuorum,
    Mode,
    Node,
    Partition,
    Pattern,
    Perform,
    Reassign,
    ReassignSome,
    RemoveVoter,
    ScriptedSchedule,
    Step,
    Stop,
    Target,
    TimedOperation,
    Topology,
    UnregisterBroker,
    UnregisterController,
    UpdateFeature,
    UpgradeType,
    broker,
    controller,
)
from tests.harness.plan.kinds import of_kind
from tests.harness.recorded_run import Recording

NODES = Topology(mode=Mode.ISOLATED).nodes()
CUT = Partition(Pattern.HALVES, Target.ACTIVE_CONTROLLER, draw=5)
KILL = Kill(Target.PARTITION_LEADER, draw=3)
RANDOM = Stop(Target.RANDOM, draw=1)


def resolved(schedule: Planned, *recordings: Recording, nodes: tuple[Node, ...] = NODES) -> Resolution:
    operations = sorted((o for each in recordings for o in each.operations), key=lambda o: o.time_ns)
    numbered = tuple(
        type(o)(**{**{name: getattr(o, name) for name in o.__struct_fields__}, "index": index})
        for index, o in enumerate(operations)
    )
    found = resolution_of(schedule, History("abc", "", numbered), nodes)
    assert decode(encode(found.schedule)) == found.schedule, "it can't be stored"
    return found


def test_nodes_take_the_place_of_roles_and_the_times_are_those_of_then() -> None:
    schedule = FixedSchedule((Step(3_000, 6_000, CUT), Step(12_000, 6_000, KILL)), 30_000)
    nemesis = Recording("nemesis")
    nemesis.fault("f1", CUT, "c3", (3_000, 4_500, 10_600))
    nemesis.fault("f2", KILL, "b2", (13_250, 13_500, 20_000))

    found = resolved(schedule, nemesis)

    first, second = of_kind(FixedSchedule, found.schedule).steps
    assert (first.at_ms, first.hold_ms, first.fault.target, first.fault.draw) == (
        3_000,
        6_100,
        controller(3),
        5,
    )
    assert (second.at_ms, second.hold_ms, second.fault.target) == (13_250, 6_500, broker(2))
    assert found.schedule.duration_ms == 30_000
    assert found.roles == {"f1": Target.ACTIVE_CONTROLLER, "f2": Target.PARTITION_LEADER}
    assert found.notes == ()


def test_only_a_role_that_the_target_had_is_compared_later() -> None:
    schedule = FixedSchedule((Step(1_000, 6_000, CUT), Step(2_000, 6_000, RANDOM)), 30_000)
    nemesis = Recording("nemesis")
    nemesis.fault("f1", CUT, "c3", (1_000, 1_100, 7_100), by="fallback")
    nemesis.fault("f2", RANDOM, "c1", (2_000, 2_100, 8_100))
    assert resolved(schedule, nemesis).roles == {}


def test_faults_that_were_withheld_are_left_out_and_the_others_numbered_anew() -> None:
    schedule = FixedSchedule((Step(1_000, 6_000, KILL), Step(9_000, 6_000, CUT)), 30_000)
    nemesis = Recording("nemesis")
    nemesis.refused("f1", KILL, 1_000, "withheld from b1: no copies")
    nemesis.fault("f2", CUT, "c1", (9_000, 9_100, 15_100))

    found = resolved(schedule, nemesis)

    assert [step.fault.target for step in of_kind(FixedSchedule, found.schedule).steps] == [controller(1)]
    assert found.roles == {"f1": Target.ACTIVE_CONTROLLER}
    assert found.notes == ("f1 of the recorded run is left out: withheld from b1: no copies",)


def test_a_fault_that_was_never_reached_stays_symbolic_and_that_is_reported() -> None:
    schedule = FixedSchedule((Step(1_000, 6_000, KILL), Step(9_000, 6_000, CUT)), 30_000)
    nemesis = Recording("nemesis")
    nemesis.fault("f1", KILL, "b1", (1_000, 1_100, 7_100))
    found = resolved(schedule, nemesis)
    assert of_kind(FixedSchedule, found.schedule).steps[1] == Step(9_000, 6_000, CUT)
    assert len(found.notes) == 1


def test_a_run_that_was_killed_in_mid_fault_keeps_the_planned_time_of_that_fault() -> None:
    nemesis = Recording("nemesis")
    nemesis.fault("f1", CUT, "c2", (1_000, 1_100, 7_100))
    del nemesis.operations[2:]
    found = resolved(FixedSchedule((Step(1_000, 6_000, CUT),), 30_000), nemesis)
    assert of_kind(FixedSchedule, found.schedule).steps == (
        Step(1_000, 6_000, Partition(Pattern.HALVES, controller(2), draw=5)),
    )
    del nemesis.operations[1:]
    found = resolved(FixedSchedule((Step(1_000, 6_000, CUT),), 30_000), nemesis)
    assert of_kind(FixedSchedule, found.schedule).steps[0].fault == CUT


def test_what_was_in_force_at_the_end_is_so_again_however_late_the_others_were() -> None:
    schedule = FixedSchedule((Step(1_000, 8_000, KILL), Step(2_000, 9_500, CUT)), 10_000)
    nemesis = Recording("nemesis")
    nemesis.fault("f1", KILL, "b1", (1_000, 5_000, 13_000))
    nemesis.fault("f2", CUT, "c1", (5_100, 5_200, 13_500))

    found = of_kind(FixedSchedule, resolved(schedule, nemesis).schedule)

    late, outlasting = found.steps
    assert found.duration_ms == 10_000
    assert late.at_ms + late.hold_ms <= found.duration_ms
    assert outlasting.at_ms + outlasting.hold_ms > found.duration_ms


def test_a_schedule_that_was_late_is_as_long_as_it_took() -> None:
    schedule = FixedSchedule((Step(1_000, 8_000, KILL), Step(2_000, 7_000, CUT)), 10_000)
    nemesis = Recording("nemesis")
    nemesis.fault("f1", KILL, "b1", (1_000, 1_100, 9_200))
    nemesis.fault("f2", CUT, "c1", (5_000, 5_500, 13_000))
    found = resolved(schedule, nemesis).schedule
    assert found.duration_ms == 12_500


def test_what_was_asked_for_late_is_within_the_load() -> None:
    runner, admin = Recording("runner"), Recording("admin")
    runner.add(0, OperationType.OK, "phase", "load")
    asked = {"partitions": None, "to": "b1"}
    admin.add(10_400, OperationType.INVOKE, "elect-leaders", "preferred", asked)
    schedule = FixedSchedule((), 10_000, (TimedOperation(9_900, ElectLeaders(ElectionType.PREFERRED)),))
    found = resolved(schedule, runner, admin).schedule
    assert found.duration_ms == 10_401
    assert not list(misfits_of(found, Topology(mode=Mode.ISOLATED)))


def test_admin_operations_are_those_that_were_asked_for() -> None:
    schedule = FixedSchedule(
        (), 30_000, (TimedOperation(1_000, ReassignSome(4)), TimedOperation(2_000, ChangeVoters(3)))
    )
    runner, admin = Recording("runner"), Recording("admin")
    runner.add(0, OperationType.OK, "phase", "load")
    invoke = OperationType.INVOKE
    admin.add(
        1_000,
        invoke,
        "alter-reassignments",
        None,
        {"targets": [["t", 0, [1, 2]], ["t", 1, None]], "throttle_bytes_per_s": 9, "to": "b1"},
    )
    admin.add(2_000, invoke, "elect-leaders", "unclean", {"partitions": [["t", 1]], "to": "b1"})
    admin.add(3_000, invoke, "elect-leaders", "preferred", {"partitions": None, "to": "b1"})
    admin.add(4_000, invoke, "add-voter", 103, {"directory_id": "d", "to": "b1"})
    admin.add(4_500, OperationType.OK, "add-voter", 103, {"directory_id": "d", "to": "b1"})
    admin.add(5_000, invoke, "remove-voter", 2, {"directory_id": "d", "to": "b1"})
    admin.add(6_000, invoke, "update-feature", "kraft.version", {"level": 1, "to": "b1"})
    lowered = {"level": 1, "upgrade_type": "safe-downgrade", "validate_only": True, "to": "b1"}
    admin.add(6_500, invoke, "update-feature", "share.version", lowered)
    admin.add(7_000, invoke, "alter-topic", "t", {"config": "c", "value": "v", "to": "b1"})
    admin.add(8_000, invoke, "create-partitions", "t", {"count": 8, "to": "b1"})
    admin.add(8_500, invoke, "alter-brokers", "c", {"value": "v", "to": "b1"})
    admin.add(8_600, invoke, "alter-group", "g", {"config": "c", "value": "v", "to": "b1"})
    admin.add(9_000, invoke, "late-heartbeat", 2, {"epoch": 9, "metadata_offset": 12, "to": "c1"})
    cordoned = {"config": "cordoned.log.dirs", "value": "*", "to": "b1"}
    admin.add(9_100, invoke, "alter-broker", 2, cordoned)
    admin.add(9_200, invoke, "alter-broker", 2, cordoned | {"value": None})
    admin.add(9_300, invoke, "unregister-broker", 2, {"to": "b1"})
    admin.add(9_400, invoke, "unregister-controller", 103, {"to": "b1"})

    acts = of_kind(FixedSchedule, resolved(schedule, runner, admin).schedule).acts

    assert acts == (
        TimedOperation(1_000, Reassign((("t", 0, (1, 2)), ("t", 1, None)), 9)),
        TimedOperation(2_000, ElectLeaders(ElectionType.UNCLEAN, (("t", 1),))),
        TimedOperation(3_000, ElectLeaders(ElectionType.PREFERRED)),
        TimedOperation(4_000, AddVoter(controller(3))),
        TimedOperation(5_000, RemoveVoter(broker(2))),
        TimedOperation(6_000, UpdateFeature("kraft.version", 1)),
        TimedOperation(
            6_500, UpdateFeature("share.version", 1, UpgradeType.SAFE_DOWNGRADE, validate_only=True)
        ),
        TimedOperation(7_000, AlterTopic("t", "c", "v")),
        TimedOperation(8_000, AddPartitions(8, "t")),
        TimedOperation(8_500, AlterBrokers("c", "v")),
        TimedOperation(8_600, AlterGroup("g", "c", "v")),
        TimedOperation(9_000, LateHeartbeat(broker(2))),
        TimedOperation(9_100, AlterBroker(broker(2), "cordoned.log.dirs", "*")),
        TimedOperation(9_200, AlterBroker(broker(2), "cordoned.log.dirs", None)),
        TimedOperation(9_300, UnregisterBroker(broker(2))),
        TimedOperation(9_400, UnregisterController(controller(3))),
    )


SCRIPT = ScriptedSchedule(
    (
        Await(LeadsQuorum()),
        Perform(RemoveVoter(), expect=(0,), until_ms=5_000),
        Perform(ElectLeaders(ElectionType.PREFERRED)),
        Perform(RemoveVoter(), background=True),
        Inject("leader", CUT),
        Heal("leader"),
        Perform(AddVoter()),
        Inject("late", KILL),
    ),
    30_000,
)


def test_a_script_is_played_with_the_nodes_of_then() -> None:
    moves, admin, background, nemesis = (
        Recording("moves"),
        Recording("admin"),
        Recording("admin-2"),
        Recording("nemesis"),
    )
    moves.add(0, OperationType.INVOKE, "await", "leads-quorum", {})
    moves.add(1, OperationType.OK, "await", "leads-quorum", {})
    moves.add(10, OperationType.INVOKE, "perform", "remove-voter", {})
    for at_ms, voter in ((11, 101), (20, 102)):  # the second attempt was at somebody else
        admin.add(at_ms, OperationType.INVOKE, "remove-voter", voter, {"directory_id": "d"})
        admin.add(at_ms + 1, OperationType.INFO, "remove-voter", voter, {"directory_id": "d"})
    moves.add(30, OperationType.OK, "perform", "remove-voter", {})
    moves.add(31, OperationType.INVOKE, "perform", "elect-leaders", {})
    admin.add(32, OperationType.INVOKE, "elect-leaders", "preferred", {"partitions": None})
    moves.add(33, OperationType.OK, "perform", "elect-leaders", {})
    background.add(34, OperationType.INVOKE, "remove-voter", 103, {"directory_id": "d"})
    nemesis.fault("leader", CUT, "c1", (40, 41, 5_041))

    found = resolved(SCRIPT, moves, admin, background, nemesis)

    assert of_kind(ScriptedSchedule, found.schedule).moves[:6] == (
        Await(LeadsQuorum()),
        Perform(RemoveVoter(controller(2)), expect=(0,), until_ms=5_000),
        Perform(ElectLeaders(ElectionType.PREFERRED)),
        Perform(RemoveVoter(controller(3)), background=True),
        Inject("leader", Partition(Pattern.HALVES, controller(1), draw=5)),
        Heal("leader"),
    )
    assert of_kind(ScriptedSchedule, found.schedule).moves[6:] == SCRIPT.moves[6:]
    assert [note.split(" ")[0] for note in found.notes] == ["add-voter", "late"]
    assert found.roles == {"leader": Target.ACTIVE_CONTROLLER}


def test_drawn_operations_of_a_script_are_resolved_too() -> None:
    moves, admin = Recording("moves"), Recording("admin")
    moves.add(10, OperationType.INVOKE, "perform", "elect-some", {})
    admin.add(11, OperationType.INVOKE, "elect-leaders", "preferred", {"partitions": [["t", 4]]})
    found = resolved(ScriptedSchedule((Perform(ElectSome(ElectionType.PREFERRED)),), 9), moves, admin)
    assert found.notes == ("elect-some was not requested in the recorded run: it is resolved again",)
    moves.add(12, OperationType.OK, "perform", "elect-some", {})
    found = resolved(ScriptedSchedule((Perform(ElectSome(ElectionType.PREFERRED)),), 9), moves, admin)
    assert of_kind(ScriptedSchedule, found.schedule).moves == (
        Perform(ElectLeaders(ElectionType.PREFERRED, (("t", 4),))),
    )


def test_a_node_that_there_is_not_is_refused() -> None:
    nemesis = Recording("nemesis")
    nemesis.fault("f1", CUT, "c5", (1_000, 1_100, 7_100))
    with pytest.raises(MisfitError, match="c5 is not among c1, c2"):
        resolved(FixedSchedule((Step(1_000, 6_000, CUT),), 30_000), nemesis)


def test_differences_from_the_recorded_run_are_reported() -> None:
    nemesis = Recording("nemesis")
    nemesis.fault("f1", CUT, "c3", (1, 2, 3), by="name", roles=["quorum-follower", "random"])
    nemesis.fault("f2", CUT, "c3", (4, 5, 6), by="name", roles=["active-controller"])
    nemesis.fault("f3", RANDOM, "c3", (7, 8, 9), by="name", roles=[])
    nemesis.refused("f4", KILL, 10, "the target is held by another fault")
    found = differences({"f1": Target.ACTIVE_CONTROLLER, "f2": Target.ACTIVE_CONTROLLER}, nemesis.operations)
    assert found == (
        "f1: c3 had the role active-controller in the recorded run, not now",
        "f4 was not injected: the target is held by another fault",
    )
