"""Gambits about nodes' registrations, cordoned directories and feature levels.

They are drawn in the same way as those of `harness.plan.gambits`, which has the table of all gambits.
"""

import random

import msgspec

from checkers.history.requested import UpgradeType
from harness.plan.gambit_pieces import (
    BACK_MS,
    SEVERAL_S_MS,
    Script,
    even,
    fresh_draw,
)
from harness.vocabulary.administration import (
    AddSome,
    AlterBroker,
    ReassignSome,
    UnregisterBroker,
    UnregisterController,
    UpdateFeature,
    broker,
    controller,
)
from harness.vocabulary.faults import Fault, Kill, Partition, Pattern, Pause, Stop
from harness.vocabulary.gambits import (
    AllInSync,
    ChooseQuorum,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    QuorumLed,
    QuorumLedByAnother,
    Request,
    Until,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import Among, Topology

_CORDONED = "cordoned.log.dirs"
_FENCED_MS = 4_000
"""More than ``broker.session.timeout.ms``: the broker is fenced, so that no partition needs it."""
_LOWERED = (
    (UpdateFeature("transaction.version", 1, UpgradeType.SAFE_DOWNGRADE), 2),
    (UpdateFeature("share.version", 1, UpgradeType.SAFE_DOWNGRADE), 2),
    (UpdateFeature("group.version", 0, UpgradeType.UNSAFE_DOWNGRADE), 1),
)
"""Levels to which features are lowered, and the level that each has in a new cluster of 4.4."""
_BRIEFLY_MS = (500, 2_500)
_REPORTED_MS = (17_000, 18_000)
"""More than the 15 s after which the checker requires that every node reports an acknowledged level."""
_LOWERED_BEFORE = (_LOWERED[0], _LOWERED[0], _LOWERED[2])
"""The same for a new cluster of 4.3, in which ``share.version`` has no level above 1.

``transaction.version`` is lowered more often, because its lower level is not 0, for which Kafka has other
code.
"""
_LOSSY = tuple(UpdateFeature("metadata.version", level, UpgradeType.SAFE_DOWNGRADE) for level in (28, 29))
"""To 4.2-IV0 and 4.2-IV1: 4.3-IV0, the level of a new cluster of 4.3, changed metadata since."""


def unregistered_broker(source: random.Random, topology: Topology) -> Script:
    """A broker that is down is unregistered, and the active controller fails or not; then it returns."""
    number = source.randint(1, topology.brokers)
    gone = InjectAll((FaultAt("f1", broker(number), source.choice((Kill(), Stop()))),))
    asked = Request(UnregisterBroker(broker(number)), answered=True)
    moved = (Request(ReassignSome(fresh_draw(source))),) if even(source) else ()
    return (
        ChooseQuorum(fresh_draw(source)),
        gone,
        Pass(source.choice((source.randint(0, 1_000), _FENCED_MS))),
        *_with_controller_lost(source, asked),
        *moved,
        Pass(source.randint(0, 1_500)),
        HealAll(("f1",)),
        Until(AllInSync(), BACK_MS),
    )


def unregistered_controller(source: random.Random, topology: Topology) -> Script:
    """A controller is unregistered while it is down or while it runs, and registers again (KIP-1312)."""
    number = source.randint(1, topology.controllers)
    asked = Request(UnregisterController(controller(number)), answered=True)
    down = InjectAll((FaultAt("f1", controller(number), source.choice((Kill(), Stop()))),))
    led = Until(QuorumLed(), SEVERAL_S_MS)
    later = Pass(source.randint(0, 1_500))
    return (down, led, asked, later, HealAll(("f1",)), led) if even(source) else (asked, later, led)


def cordoned_broker(source: random.Random, topology: Topology) -> Script:
    """All directories of a broker are cordoned while replicas are placed, and the controller fails or not."""
    member = broker(source.randint(1, topology.brokers))
    placed = (
        Request(AddSome(fresh_draw(source)), answered=True),
        *(Request(ReassignSome(fresh_draw(source)), answered=True) for _ in range(2)),
    )
    return (
        ChooseQuorum(fresh_draw(source)),
        Request(AlterBroker(member, _CORDONED, "*"), answered=True),
        # The broker reports its cordoned directories with its next heartbeat.
        Pass(source.randint(300, 1_500)),
        *_with_controller_lost(source, *placed),
        Request(AlterBroker(member, _CORDONED, None), answered=True),
        Until(AllInSync(), BACK_MS),
    )


def lowered_feature(source: random.Random, _: Topology) -> Script:
    """A feature is lowered and raised again, while the active controller fails or not (KIP-584)."""
    lowered, level = source.choice(_LOWERED)
    asked = (Request(lowered, answered=True),)
    return _lowered_and_raised(source, asked, UpdateFeature(lowered.feature, level), _BRIEFLY_MS)


def refused_downgrade(source: random.Random, _: Topology) -> Script:
    """``metadata.version`` must not be lowered; another feature is, and is raised again (KIP-584, KIP-778).

    The active controller fails or not.  Half of the time the level stays low for so long that all nodes must
    report it.
    """
    lowered, level = source.choice(_LOWERED_BEFORE)
    lossy = source.choice(_LOSSY)
    asked = (Request(lossy, answered=True), Request(lowered, answered=True))
    raised = UpdateFeature(lowered.feature, level)
    # Only checked first: the answer to the other request may be lost with the controller.
    checked = Request(msgspec.structs.replace(lossy, validate_only=True), answered=True)
    low_ms = source.choice((_BRIEFLY_MS, _REPORTED_MS))
    return checked, *_lowered_and_raised(source, asked, raised, low_ms, again=asked[1:])


def _lowered_and_raised(
    source: random.Random,
    asked: tuple[Request, ...],
    raised: UpdateFeature,
    low_ms: tuple[int, int],
    again: tuple[Request, ...] = (),
) -> Script:
    """Requests, of which the last lowers a feature; after a time its level is raised again.

    The requests `again` are made once there is a controller, because the first answers may be lost.
    """
    return (
        ChooseQuorum(fresh_draw(source)),
        *_with_controller_lost(source, *asked),
        *again,
        Pass(source.randint(*low_ms)),
        # Requested twice, because the first request may be too early for a leader that was just elected.
        *(Request(raised, answered=True) for _ in range(2)),
        Until(AllInSync(), BACK_MS),
    )


def _with_controller_lost(source: random.Random, *asked: GambitMove) -> Script:
    """The requests; in half of the cases the active controller fails during them or just after."""
    if even(source):
        return asked
    faults: tuple[Fault, ...] = (Kill(), Pause(), Partition(Pattern.ISOLATE_ONE, among=Among.CONTROLLERS))
    lost = InjectAll((FaultAt("f2", "controller", source.choice(faults)),))
    first, *rest = asked
    unanswered = Request(first.operation) if isinstance(first, Request) else first
    return (
        *((unanswered, lost) if even(source) else (lost, first)),
        *rest,
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_000)),
        HealAll(("f2",)),
        Until(QuorumLed(), SEVERAL_S_MS),
    )
