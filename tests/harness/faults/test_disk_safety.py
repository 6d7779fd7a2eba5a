"""Disks that may go, and disks that may not: by what brokers and the leader of the quorum reported last."""

import msgspec
import pytest

from checkers.history.faults import Refusal, ResolvedBy
from checkers.history.observed import PartitionAnswer
from checkers.history.quorum import ReplicaState
from harness.faults.disk_safety import CAUGHT_UP_MS, DiskFault, chosen, disk_fault_of, objection
from harness.faults.refused_faults import DEAD, HELD, Refused, withheld
from harness.faults.targets import Resolved
from harness.kafka.answers import QuorumAnswer
from harness.kafka.snapshot import ClusterSnapshot
from harness.plan.catalogue import load_scenario, scenario_names
from harness.vocabulary import (
    DeadDisk,
    Fault,
    Kill,
    LogWorkload,
    LostAnswers,
    Member,
    Mode,
    PowerLoss,
    RandomSchedule,
    Scope,
    Target,
    Topology,
    WipeDisk,
    broker,
)
from tests.harness.snapshots import led

NOW_MS = 1_000_000
NODES = Topology(controllers=4, brokers=4).nodes()
N1, N2, N3, N4 = NODES
WIPE, POWER = WipeDisk(sparing=True), PowerLoss(sparing=True)
WHERE = ("t", 0)


def partition(*isr: int, replicas: tuple[int, ...] = (1, 2, 3)) -> PartitionAnswer:
    return PartitionAnswer(0, isr[0], 4, replicas, isr, None)


def quorum(*ago_ms: int, leader: int = 1) -> QuorumAnswer:
    """Voters from 1 on, by how long ago they had all that the leader has."""
    voters = tuple(
        ReplicaState(one, f"d{one}", 9, NOW_MS, NOW_MS - ago) for one, ago in enumerate(ago_ms, start=1)
    )
    return QuorumAnswer(0, leader, 3, 8, voters, ())


SNAPSHOT = ClusterSnapshot(
    NODES,
    {WHERE: (partition(1, 2, 3), partition(3, 2, 1))},
    quorum(0, 500, 500),
    min_insync_replicas=2,
    taken_at_ms=NOW_MS,
    answers=40,
)


TOO_FEW = "1 of 2 other copies of t/0 are in sync for certain"


def seen(held: tuple[str, ...] = (), **known: object) -> ClusterSnapshot:
    return msgspec.structs.replace(SNAPSHOT, held=frozenset(held), **known)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("fault", [WIPE, POWER])
def test_a_disk_may_go_where_enough_others_have_it_all(fault: Fault, node: object) -> None:
    assert objection(fault, node, SNAPSHOT, ()) is None  # type: ignore[arg-type]  # a node, as parametrized


@pytest.mark.parametrize("fault", [WipeDisk(), PowerLoss(), DeadDisk(), Kill()])
def test_what_is_not_to_spare_anything_is_never_withheld(fault: Fault) -> None:
    assert objection(fault, N1, seen(reported={WHERE: (partition(1),)}, quorum=None), ()) is None


@pytest.mark.parametrize("fault", [WIPE, POWER, DeadDisk(sparing=True)])
@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(seen(reported={WHERE: (partition(1, 2),)}), id="out of sync"),
        pytest.param(seen(reported={WHERE: (partition(1, 2, 3), partition(1, 2))}), id="out of sync, by one"),
        pytest.param(seen(held=("n3",)), id="held by a fault"),
        pytest.param(seen(reported={WHERE: (partition(1, replicas=(1,)),)}), id="the only copy"),
        pytest.param(seen(reported={WHERE: (partition(1, replicas=(1, 2)),)}), id="the last of two"),
        pytest.param(
            seen(
                reported={("a", 7): (partition(1, 2, 3, 4, replicas=(1, 2, 3, 4)),), WHERE: (partition(1),)}
            ),
            id="another partition",
        ),
    ],
)
def test_a_partition_that_would_have_too_few_copies_keeps_the_disk(
    fault: Fault, snapshot: ClusterSnapshot
) -> None:
    why = objection(fault, N1, snapshot, ())
    assert why is not None
    assert "other copies of t/0 are in sync for certain" in why


@pytest.mark.parametrize("least", [1, 2, 3])
def test_of_two_copies_one_may_go(least: int) -> None:
    snapshot = seen(min_insync_replicas=least, reported={WHERE: (partition(2, 1, replicas=(1, 2)),)})
    assert objection(POWER, N1, snapshot, ()) is None
    assert objection(POWER, N1, snapshot, [disk_fault_of(N2, snapshot)]) is not None


def test_a_fault_hits_the_first_from_whom_it_need_not_be_withheld() -> None:
    held = seen(reported={WHERE: (partition(1, 2),)})
    found = [chosen(WipeDisk(Target.BROKER, sparing=True, draw=draw), held, ()) for draw in range(12)]
    assert set(found) == {Resolved(N3, ResolvedBy.ROLE), Resolved(N4, ResolvedBy.ROLE)}, (
        "who has no copy that is in sync"
    )
    assert chosen(WipeDisk(Target.BROKER, draw=1), held, ()) == Resolved(N2, by=ResolvedBy.ROLE)


@pytest.mark.parametrize(
    ("target", "leads", "refused"),
    [
        (Target.ACTIVE_CONTROLLER, 2, withheld("n2", TOO_FEW)),
        (Target.ACTIVE_CONTROLLER, None, withheld("n1", TOO_FEW)),
        (broker(1), 2, withheld("n1", TOO_FEW)),
        (broker(9), 1, HELD),
    ],
)
def test_a_withheld_fault_is_not_moved_to_another_target(
    target: Target | Member, leads: int | None, refused: Refused
) -> None:
    short = seen(reported={WHERE: (partition(1, 2),)}, quorum=leads and quorum(0, 0, 0, leader=leads))
    assert chosen(WipeDisk(target, sparing=True), short, ()) == refused


@pytest.mark.parametrize(
    ("target", "down", "found"),
    [
        (broker(1), (), DEAD),
        (broker(1), ("n1",), HELD),
        (broker(2), (), Resolved(N2, ResolvedBy.NAME)),
        (Target.ACTIVE_CONTROLLER, (), Resolved(N2, ResolvedBy.FALLBACK)),
        (Target.ACTIVE_CONTROLLER, ("n2", "n3", "n4"), DEAD),
        (Target.BROKER, ("n2", "n3"), Resolved(N4, ResolvedBy.ROLE)),
        (Target.BROKER, ("n1", "n2", "n3", "n4"), HELD),
    ],
)
@pytest.mark.parametrize("kind", [Kill, LostAnswers])
def test_no_fault_hits_a_node_that_died_by_itself(
    kind: type[Kill | LostAnswers], target: Target | Member, down: tuple[str, ...], found: Resolved | Refused
) -> None:
    snapshot = led(NODES, 1, (1,), held=frozenset(down), dead=frozenset({"n1"}) - set(down))
    assert chosen(kind(target), snapshot, ()) == found


def test_a_copy_of_a_node_that_died_by_itself_is_none_for_certain() -> None:
    dead = msgspec.structs.replace(seen(), dead=frozenset({"n3"}))
    assert chosen(WipeDisk(broker(1), sparing=True), dead, ()) == (
        Refusal.WITHHELD,
        "withheld from n1: 1 of 2 other copies of t/0 are in sync for certain",
    )


def test_a_partition_that_no_broker_reports_is_uncertain() -> None:
    assert objection(WIPE, N4, seen(reported={WHERE: ()}), ()) == "no broker reports the ISR of t/0"


def test_a_disk_that_went_counts_until_its_copy_was_seen_out_of_sync() -> None:
    fault = disk_fault_of(N3, SNAPSHOT)
    assert fault == DiskFault(3, 40, frozenset({WHERE}))
    for out in ({}, {(*WHERE, 3): 40}, {(*WHERE, 2): 41}, {("t", 1, 3): 41}):
        why = objection(WIPE, N1, seen(out_of_sync=out), [fault])
        assert why == "1 of 2 other copies of t/0 are in sync for certain"
    assert objection(WIPE, N1, seen(out_of_sync={(*WHERE, 3): 41}), [fault]) is None
    twice = [fault, DiskFault(3, 50, frozenset({WHERE}))]
    assert objection(WIPE, N1, seen(out_of_sync={(*WHERE, 3): 41}), twice) is not None


def test_a_disk_that_went_had_no_copy_of_what_came_to_its_broker_later() -> None:
    assert disk_fault_of(N4, SNAPSHOT).partitions == frozenset()
    assert objection(WIPE, N1, SNAPSHOT, [disk_fault_of(N4, SNAPSHOT)]) is None


@pytest.mark.parametrize(
    ("snapshot", "why"),
    [
        (seen(quorum=None), "no leader of the quorum is visible"),
        (
            seen(quorum=quorum(0, 500, CAUGHT_UP_MS + 1)),
            "1 other voters, of 3 in all, certainly have all of the metadata",
        ),
        (
            seen(quorum=quorum(0, 500, 500, CAUGHT_UP_MS + 1)),
            "2 other voters, of 4 in all, certainly have all of the metadata",
        ),
        (
            seen(held=("n3",), reported={}),
            "1 other voters, of 3 in all, certainly have all of the metadata",
        ),
    ],
)
def test_a_quorum_that_would_lose_its_majority_keeps_the_disk(snapshot: ClusterSnapshot, why: str) -> None:
    assert objection(WIPE, N2, snapshot, ()) == why
    metadata_stays = (WipeDisk(scope=Scope.TOPIC, sparing=True), WipeDisk(log_dir=2, sparing=True), POWER)
    assert [objection(fault, N2, snapshot, ()) for fault in metadata_stays] == [None, None, None]


def test_a_leader_has_all_of_its_log() -> None:
    assert objection(WIPE, N2, seen(quorum=quorum(NOW_MS, 0, 0)), ()) is None
    assert objection(WIPE, N1, seen(quorum=quorum(NOW_MS, 0, 0)), ()) is None
    assert objection(WIPE, N2, seen(quorum=quorum(NOW_MS, 0, 0, leader=3)), ()) is not None


def test_an_observer_and_a_broker_have_no_vote_to_lose() -> None:
    behind = quorum(0, CAUGHT_UP_MS + 1, CAUGHT_UP_MS + 1)
    assert objection(WIPE, N4, seen(quorum=behind), ()) is None
    nodes = Topology(mode=Mode.ISOLATED).nodes()
    snapshot = msgspec.structs.replace(seen(quorum=None), nodes=nodes)
    controllers, brokers = nodes[:3], nodes[3:]
    assert [objection(WIPE, node, snapshot, ()) for node in brokers] == [None] * 3
    assert objection(WIPE, controllers[0], snapshot, ()) is not None


def test_where_disks_are_drawn_topics_of_kafkas_own_hold_nothing_that_is_judged() -> None:
    """They are not weighed; a scenario that commits offsets or transactions would need that."""
    scenarios = [load_scenario(name) for name in scenario_names()]
    drawn = [one for one in scenarios if isinstance(one.schedule, RandomSchedule) and one.schedule.disks]
    assert drawn
    for scenario in drawn:
        assert isinstance(scenario.workload, LogWorkload), scenario.summary
        assert not scenario.workload.subscribed, scenario.summary
