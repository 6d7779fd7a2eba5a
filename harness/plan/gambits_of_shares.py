"""Gambits about share groups: their coordinators, and the leaders of their partitions, move."""

import random
from collections.abc import Callable

from harness.plan.gambit_pieces import BACK_MS, REPLICAS, Script, even, fresh_draw, isolated_one
from harness.vocabulary.administration import ElectionType, ElectLeaders
from harness.vocabulary.faults import Kill, Pause, Stop
from harness.vocabulary.gambits import (
    AllInSync,
    ChooseNewcomers,
    ChoosePartition,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    ReassignChosen,
    Request,
    RequestForChosen,
    Until,
)
from harness.vocabulary.moves import NothingMoves, Pass
from harness.vocabulary.topology import Topology

SHARE_STATES_TOPIC = "__share_group_state"


def moved_to_newcomer(topic: str | None) -> Callable[[random.Random, Topology], Script]:
    """A partition moves to a broker that had no replica; the old leader or the new one may fail meanwhile.

    The new broker becomes the preferred leader.  If it coordinates share groups then, it has to read their
    states before it answers.

    Args:
        topic: the partition's topic; None: any of the workload's.
    """

    def moves(source: random.Random, _: Topology) -> Script:
        kept = source.sample(REPLICAS, 2)
        moves: list[GambitMove] = [
            ChoosePartition(fresh_draw(source), topic, replicas_min=len(REPLICAS)),
            ChooseNewcomers(fresh_draw(source)),
            RequestForChosen(ReassignChosen(("newcomer-1", *kept))),
            Pass(source.randint(0, 1_500)),
        ]
        if even(source):
            fault = source.choice((Kill(), Stop(), Pause(), isolated_one(source)))
            moves += [
                InjectAll((FaultAt("f1", source.choice(("leader", "newcomer-1")), fault),)),
                Pass(source.randint(500, 3_000)),
                HealAll(("f1",)),
            ]
        return (
            *moves,
            Until(NothingMoves(), BACK_MS),
            Request(ElectLeaders(ElectionType.PREFERRED)),
            Pass(source.randint(300, 1_500)),
            Until(AllInSync(), BACK_MS),
        )

    return moves
