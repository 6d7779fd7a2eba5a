"""Gambits about the active controller: changes that it commits or must undo, and voters that can't hear it.

They are drawn in the same way as those of `harness.plan.gambits`, which has the table of all gambits.
"""

import random

from harness.plan.gambit_pieces import (
    AT_ONCE_MS,
    BACK_MS,
    SEVERAL_S_MS,
    Script,
    faults_at,
    fresh_draw,
    shuffled,
)
from harness.vocabulary.administration import (
    AlterSome,
    Drawn,
    ElectionType,
    ElectSome,
    ReassignSome,
)
from harness.vocabulary.faults import Among, Partition, Pattern, PowerLoss
from harness.vocabulary.gambits import (
    AllInSync,
    ChooseQuorum,
    FaultAt,
    HealAll,
    InjectAll,
    QuorumLed,
    QuorumLedByAnother,
    Request,
    Until,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import Topology

_AT_THE_CHANGE_MS = 100
_WITHOUT_LEADER_MS = (2_500, 5_500)
"""More than ``controller.quorum.fetch.timeout.ms``, 2 s, after which a voter requests pre-votes."""
_LAGGING_MS = (4_500, 6_000)
"""The leader requests an ISR without a follower that has lagged for 6 s, within 3 s after that."""
_BEFORE_FENCED_MS = (1_000, 2_200)
"""With the proof of its fault a broker is fenced, 3 s after its last heartbeat, soon after this time."""
_FEW_VOTERS = 3
_CUT_OFF = Partition(Pattern.ISOLATE_ONE, among=Among.CONTROLLERS)


def cut_off_controller(source: random.Random, _: Topology) -> Script:
    """The active controller is cut off from the other voters; brokers reach it, and changes are requested."""
    changes: list[Drawn] = [ElectSome(ElectionType.PREFERRED, fresh_draw(source))]
    changes += [ReassignSome(fresh_draw(source)), ReassignSome(fresh_draw(source))]
    return (
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f1", "controller", _CUT_OFF),)),
        *(Request(operation) for operation in source.sample(changes, 2)),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        HealAll(("f1",)),
        Until(AllInSync(), BACK_MS),
    )


def voters_power(source: random.Random, topology: Topology) -> Script:
    """A majority of the voters, or all, lose power immediately after a change was acknowledged."""
    voters = len(topology.voters())
    lost = source.choice((voters // 2 + 1, voters))
    parts = ("controller", *(f"voter-{n}" for n in range(1, lost)))
    faults = faults_at([(part, PowerLoss()) for part in shuffled(source, parts)])
    changes: list[Drawn] = [
        AlterSome(fresh_draw(source)),
        AlterSome(fresh_draw(source)),
        ReassignSome(fresh_draw(source)),
    ]
    return (
        ChooseQuorum(fresh_draw(source)),
        Request(source.choice(changes), answered=True),
        Pass(source.randint(0, 100)),
        InjectAll(faults, source.randint(0, AT_ONCE_MS)),
        Pass(source.randint(0, 1_500)),
        HealAll(shuffled(source, [aimed.name for aimed in faults]), source.randint(0, 1_500)),
        Until(QuorumLed(), SEVERAL_S_MS),
        Until(AllInSync(), BACK_MS),
    )


def _change(source: random.Random) -> Drawn:
    return source.choice((AlterSome, AlterSome, ReassignSome))(fresh_draw(source))
