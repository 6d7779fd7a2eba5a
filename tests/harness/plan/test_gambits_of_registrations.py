"""Gambits about registrations, cordoned directories and features: every draw undoes what it changed."""

import random

import msgspec
import pytest

from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.vocabulary import (
    AlterBroker,
    GambitMove,
    HealAll,
    InjectAll,
    Mode,
    Pass,
    Request,
    Topology,
    UnregisterBroker,
    UnregisterController,
    UpdateFeature,
    UpgradeType,
)

ISOLATED = Topology(mode=Mode.ISOLATED, brokers=4)
KINDS = (
    "unregistered-broker",
    "unregistered-controller",
    "cordoned-broker",
    "lowered-feature",
    "refused-downgrade",
)


def draws(kind: str) -> list[tuple[GambitMove, ...]]:
    return [drawn_gambit(kind, ISOLATED, random.Random(seed))[0] for seed in range(60)]


def requests(moves: tuple[GambitMove, ...]) -> list[object]:
    return [move.operation for move in moves if isinstance(move, Request)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_is_healed_and_all_need_isolated_controllers(kind: str) -> None:
    for moves in draws(kind):
        begun = [aimed.name for move in moves if isinstance(move, InjectAll) for aimed in move.faults]
        ended = [name for move in moves if isinstance(move, HealAll) for name in move.names]
        assert sorted(begun) == sorted(ended)
    assert not GAMBITS[kind].fits(Topology())
    assert {len(moves) for moves in draws(kind)} > {len(draws(kind)[0])}


def test_a_broker_is_unregistered_only_while_it_is_down() -> None:
    for moves in draws("unregistered-broker"):
        (down,) = (
            (place, aimed.at)
            for place, move in enumerate(moves)
            if isinstance(move, InjectAll)
            for aimed in move.faults
            if aimed.name == "f1"
        )
        (asked,) = (
            (place, move.operation.member)
            for place, move in enumerate(moves)
            if isinstance(move, Request) and isinstance(move.operation, UnregisterBroker)
        )
        healed = next(
            place for place, move in enumerate(moves) if isinstance(move, HealAll) and "f1" in move.names
        )
        assert down[0] < asked[0] < healed
        assert down[1] == asked[1]


def test_a_controller_is_unregistered_while_it_is_down_or_while_it_runs() -> None:
    drawn = draws("unregistered-controller")
    assert {any(isinstance(move, InjectAll) for move in moves) for moves in drawn} == {True, False}
    assert all(isinstance(asked, UnregisterController) for moves in drawn for asked in requests(moves))


def test_directories_are_opened_again() -> None:
    for moves in draws("cordoned-broker"):
        first, *_, last = requests(moves)
        assert isinstance(first, AlterBroker)
        assert (first.config, first.value) == ("cordoned.log.dirs", "*")
        assert last == AlterBroker(first.member, first.config, None)


def test_a_feature_is_raised_again() -> None:
    seen = set()
    for moves in draws("lowered-feature"):
        lowered, *raised = requests(moves)
        assert isinstance(lowered, UpdateFeature)
        assert lowered.level is not None
        assert raised == [UpdateFeature(lowered.feature, lowered.level + 1)] * 2
        seen.add(lowered.feature)
    assert seen == {"transaction.version", "share.version", "group.version"}


def test_a_lossy_downgrade_is_requested_before_a_feature_is_lowered() -> None:
    seen, lossy, low_ms = set(), set(), set()
    for moves in draws("refused-downgrade"):
        checked, first, lowered, again, *raised = requests(moves)
        assert again == lowered, "answers are lost with the controller"
        assert isinstance(first, UpdateFeature)
        assert checked == msgspec.structs.replace(first, validate_only=True)
        assert moves[0] == Request(checked, answered=True), "before the controller is lost"
        assert (first.feature, first.upgrade_type) == ("metadata.version", UpgradeType.SAFE_DOWNGRADE)
        assert isinstance(lowered, UpdateFeature)
        assert lowered.level is not None
        assert raised == [UpdateFeature(lowered.feature, lowered.level + 1)] * 2
        seen.add(lowered.feature)
        lossy.add(first.level)
        low_ms.add([move.ms for move in moves if isinstance(move, Pass)][-1] > 15_000)
    assert seen == {"transaction.version", "group.version"}
    assert lossy == {28, 29}
    assert low_ms == {False, True}, "nodes must report a level 15 s after it was acknowledged"
