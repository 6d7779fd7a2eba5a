"""The gambits that random schedules draw, by name: what each draws of its script; pure.

Each brings a cluster to an edge of what Kafka promises: a replica that was held back and is then all that is
left, a partition whose last replica in sync goes, a controller that ends together with the leader whose ISR
it has just changed.  What decides the outcome lasts milliseconds, so faults are short, and what they wait for
is a condition and no time.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from harness.vocabulary.administration import (
    AlterSome,
    Drawn,
    ElectionType,
    ElectLeaders,
    ElectSome,
    ReassignSome,
    broker,
)
from harness.vocabulary.faults import (
    Among,
    Fault,
    Kill,
    LostAnswers,
    Partition,
    Pattern,
    Pause,
    PowerLoss,
    Stop,
)
from harness.vocabulary.gambits import (
    AllInSync,
    Ask,
    Blow,
    ChooseCopies,
    ChooseQuorum,
    ChooseSuccessor,
    GambitMove,
    InSyncAlone,
    LedBy,
    LedByAnother,
    Mend,
    OutOfSync,
    Part,
    QuorumLed,
    QuorumLedByAnother,
    Strike,
    Until,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import DiskKind, Mode, Topology

Script = tuple[GambitMove, ...]
T = TypeVar("T")
_DRAWS = 1 << 16
_COPIES = ("leader", "follower-1", "follower-2")
_FOLLOWERS = _COPIES[1:]
_AT_ONCE_MS = 20
_HELD_BACK_MS = (0, 800)
"""Shorter than `broker.session.timeout.ms` and `replica.lag.time.max.ms`: who is held back stays in sync."""
_UNANSWERED_MS = (200, 2_500)
_BLINK_MS = (0, 900)
_SEVERAL_S_MS = 15_000
"""A lost broker is fenced after 3 s here, and a replica that does not fetch leaves the ISR after 6 to 9."""
_BACK_MS = 30_000


class Recipe(NamedTuple):
    """How one kind of gambit is drawn.

    Attributes:
        moves: draws its script.
        copies: how many brokers it needs.
        isolated: whether controllers must be nodes of their own: the quorum decides while brokers are away.
        disks: whether disks must be file systems, which lose power.
    """

    moves: Callable[[random.Random, Topology], Script]
    copies: int = len(_COPIES)
    isolated: bool = False
    disks: bool = False

    def fits(self, topology: Topology) -> bool:
        """Whether the topology has what it needs."""
        apart = topology.mode is Mode.ISOLATED or not self.isolated
        own = topology.disk is not DiskKind.FOLDER or not self.disks
        return topology.brokers >= self.copies and apart and own


def _all_copies(source: random.Random, _: Topology) -> Script:
    """All copies of a partition down within milliseconds, back in drawn order."""
    return ChooseCopies(_draw(source), copies=len(_COPIES)), *_down_and_back(source, _COPIES)


def _all_brokers(source: random.Random, topology: Topology) -> Script:
    """All brokers."""
    return tuple(_down_and_back(source, [broker(n) for n in range(1, topology.brokers + 1)]))


def _broker_majority(source: random.Random, topology: Topology) -> Script:
    """More than half of the brokers."""
    numbers = source.sample(range(1, topology.brokers + 1), topology.brokers // 2 + 1)
    return tuple(_down_and_back(source, [broker(n) for n in numbers]))


def _down_and_back(source: random.Random, parts: Sequence[Part]) -> Iterator[GambitMove]:
    blows = _blows([(part, Kill()) for part in _shuffled(source, parts)])
    yield Strike(blows, source.randint(0, _AT_ONCE_MS))
    yield Pass(source.randint(0, 4_000))
    yield Mend(_shuffled(source, [blow.name for blow in blows]), source.randint(0, 2_500))
    yield Until(AllInSync(), _BACK_MS)


def _held_follower(source: random.Random, _: Topology) -> Script:
    """One follower held back for less than it takes to leave the ISR; then the leader and the rest go."""
    held, others = "follower-1", ("leader", "follower-2")
    hold = source.choice((Pause(), _isolated(source)))
    taken = source.choice((Kill, Kill, Pause))()
    gone = _blows([(part, taken) for part in _shuffled(source, others)], first=2)
    return (
        ChooseCopies(_draw(source), copies=len(_COPIES)),
        Strike((Blow("f1", held, hold),)),
        Pass(source.randint(*_HELD_BACK_MS)),
        Strike(gone, source.randint(0, _AT_ONCE_MS)),
        Mend(("f1",)),
        Until(LedBy(held), _SEVERAL_S_MS),
        Mend(_shuffled(source, [blow.name for blow in gone]), source.randint(0, 2_000)),
        Until(AllInSync(), _BACK_MS),
    )


def _last_in_sync(source: random.Random, _: Topology) -> Script:
    """An ISR shrunk to one, which then goes; the others are back first, and must not lead."""
    away = source.choice((Stop, Kill, Pause))
    parts = _shuffled(source, _FOLLOWERS)
    others = _blows([(part, away()) for part in parts], first=1)
    return (
        ChooseCopies(_draw(source), copies=len(_COPIES)),
        Strike(others, source.choice((0, source.randint(200, 2_000)))),
        Until(InSyncAlone("leader"), _SEVERAL_S_MS),
        Pass(source.randint(200, 2_000)),
        Strike((Blow("f3", "leader", source.choice((Kill, Kill, Stop))()),)),
        Mend(_shuffled(source, [blow.name for blow in others]), source.randint(0, 1_500)),
        Pass(source.randint(0, 3_000)),
        Mend(("f3",)),
        Until(AllInSync(), _BACK_MS),
    )


def _isr_and_controller(source: random.Random, _: Topology) -> Script:
    """An ISR changes, and its leader and the controller that wrote the change go together."""
    out = source.choice((Stop(), Pause(), _isolated(source)))
    gone = _blows([(part, Kill()) for part in _shuffled(source, ("controller", "leader"))], first=2)
    return (
        ChooseCopies(_draw(source)),
        ChooseQuorum(_draw(source)),
        Strike((Blow("f1", "follower-1", out),)),
        Until(OutOfSync("follower-1"), _SEVERAL_S_MS),
        Strike(gone, source.randint(0, _AT_ONCE_MS)),
        Until(LedByAnother(("leader",)), _SEVERAL_S_MS),
        Mend(_shuffled(source, ["f1", *(blow.name for blow in gone)]), source.randint(0, 1_500)),
        Until(AllInSync(), _BACK_MS),
    )


def _cut_off_leader(source: random.Random, _: Topology) -> Script:
    """A leader that only clients reach any more, then healed, or killed first."""
    cut = Strike((Blow("f1", "leader", _isolated(source)),))
    killed = Strike((Blow("f2", "leader", Kill()),))
    names = ["f1"]
    moves: list[GambitMove] = [ChooseCopies(_draw(source)), cut]
    if source.random() < 0.7:  # noqa: PLR2004 - a chance
        moves.append(Until(LedByAnother(("leader",)), _SEVERAL_S_MS))
    moves.append(Pass(source.randint(100, 2_000)))
    if source.random() < 0.5:  # noqa: PLR2004 - an even chance
        moves.append(killed)
        names.append("f2")
    moves.append(Mend(_shuffled(source, names), source.randint(0, 500)))
    return (*moves, Until(AllInSync(), _BACK_MS))


def _lost_answers(source: random.Random, _: Topology) -> Script:
    """Clients hear nothing of a leader for a while; leadership moves, so that they ask another one again."""
    goes = source.choice((Kill(), Kill(), Stop(), _isolated(source)))
    return (
        ChooseCopies(_draw(source)),
        Strike((Blow("f1", "leader", LostAnswers()),)),
        Pass(source.randint(*_UNANSWERED_MS)),
        Strike((Blow("f2", "leader", goes),)),
        Until(LedByAnother(("leader",)), _SEVERAL_S_MS),
        Pass(source.randint(0, 1_000)),
        Mend(_shuffled(source, ("f1", "f2")), source.randint(0, 500)),
        Until(AllInSync(), _BACK_MS),
    )


def _deaf_preferred(source: random.Random, _: Topology) -> Script:
    """A preferred election for a replica that is alive and does not fetch, out of sync or not yet."""
    deaf = Partition(Pattern.ISOLATE_ONE, among=Among.BROKERS, draw=_draw(source))
    waits = source.choice((Pass(source.randint(0, 2_000)), Until(OutOfSync("follower-1"), _SEVERAL_S_MS)))
    return (
        ChooseCopies(_draw(source), preferred_follows=True, within_ms=2_000),
        Strike((Blow("f1", "follower-1", deaf),)),
        waits,
        Ask(ElectLeaders(ElectionType.PREFERRED)),
        Pass(source.randint(300, 2_500)),
        Mend(("f1",)),
        Until(AllInSync(), _BACK_MS),
    )


def _coordinator_of(topic: str) -> Callable[[random.Random, Topology], Script]:
    """A coordinator that goes, its successor after it, and is led back by a preferred election."""

    def moves(source: random.Random, _: Topology) -> Script:
        takes = source.choice((Kill(), Stop(), Pause(), _isolated(source)))
        return (
            ChooseCopies(_draw(source), topic),
            Strike((Blow("f1", "leader", takes),)),
            Until(LedByAnother(("leader",)), _SEVERAL_S_MS),
            ChooseSuccessor(),
            Pass(source.randint(0, 1_000)),
            Strike((Blow("f2", "successor", source.choice((Pause(), _isolated(source), Kill()))),)),
            Mend(_shuffled(source, ("f1", "f2")), source.randint(0, 1_500)),
            Until(AllInSync(), _BACK_MS),
            Ask(ElectLeaders(ElectionType.PREFERRED)),
            Pass(source.randint(300, 1_000)),
        )

    return moves


def _rolling_bounce(source: random.Random, topology: Topology) -> Script:
    """Every broker restarted in turn, the next as soon as the one before it is in sync."""
    moves: list[GambitMove] = []
    for place, number in enumerate(source.sample(range(1, topology.brokers + 1), topology.brokers), start=1):
        fault = source.choice((Stop, Stop, Stop, Kill))()
        moves += [Strike((Blow(f"f{place}", broker(number), fault),)), Mend((f"f{place}",))]
        moves.append(Until(AllInSync(), _BACK_MS))
    return tuple(moves)


def _cut_off_controller(source: random.Random, _: Topology) -> Script:
    """The active controller without the other voters; brokers still reach it, and changes are asked for."""
    among = Partition(Pattern.ISOLATE_ONE, among=Among.CONTROLLERS)
    changes: list[Drawn] = [ElectSome(ElectionType.PREFERRED, _draw(source))]
    changes += [ReassignSome(_draw(source)), ReassignSome(_draw(source))]
    return (
        ChooseQuorum(_draw(source)),
        Strike((Blow("f1", "controller", among),)),
        *(Ask(operation) for operation in source.sample(changes, 2)),
        Until(QuorumLedByAnother("controller"), _SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        Mend(("f1",)),
        Until(AllInSync(), _BACK_MS),
    )


def _flapping(source: random.Random, _: Topology) -> Script:
    """Links, or processes, that come and go: several short faults at those on whom a partition depends."""
    parts = source.choices(("leader", "leader", "follower-1", "controller"), k=source.randint(4, 6))
    moves: list[GambitMove] = [ChooseCopies(_draw(source)), ChooseQuorum(_draw(source))]
    for number, part in enumerate(parts, start=1):
        fault = source.choice((Pause(), _isolated(source), _isolated(source)))
        moves.append(Strike((Blow(f"f{number}", part, fault),)))
        moves.append(Pass(source.randint(*_BLINK_MS)))
        moves.append(Mend((f"f{number}",)))
    return (*moves, Until(AllInSync(), _BACK_MS))


def _colliding_elections(source: random.Random, topology: Topology) -> Script:
    """All voters frozen until none has heard of the leader for too long; they go on within milliseconds."""
    voters = ("controller", *(f"voter-{n}" for n in range(1, len(topology.voters()))))
    blows = _blows([(part, Pause()) for part in _shuffled(source, voters)])
    return (
        ChooseQuorum(_draw(source)),
        Strike(blows),
        Pass(source.randint(1_500, 3_000)),
        Mend(_shuffled(source, [blow.name for blow in blows]), source.randint(0, _AT_ONCE_MS)),
        Until(AllInSync(), _BACK_MS),
    )


def _voters_power(source: random.Random, topology: Topology) -> Script:
    """Power lost by a majority of the voters, or all, right after a change was acknowledged."""
    voters = len(topology.voters())
    lost = source.choice((voters // 2 + 1, voters))
    parts = ("controller", *(f"voter-{n}" for n in range(1, lost)))
    blows = _blows([(part, PowerLoss()) for part in _shuffled(source, parts)])
    changes: list[Drawn] = [AlterSome(_draw(source)), AlterSome(_draw(source)), ReassignSome(_draw(source))]
    return (
        ChooseQuorum(_draw(source)),
        Ask(source.choice(changes), answered=True),
        Pass(source.randint(0, 100)),
        Strike(blows, source.randint(0, _AT_ONCE_MS)),
        Pass(source.randint(0, 1_500)),
        Mend(_shuffled(source, [blow.name for blow in blows]), source.randint(0, 1_500)),
        Until(QuorumLed(), _SEVERAL_S_MS),
        Until(AllInSync(), _BACK_MS),
    )


GAMBITS: dict[str, Recipe] = {
    "all-copies": Recipe(_all_copies),
    "all-brokers": Recipe(_all_brokers, copies=1),
    "broker-majority": Recipe(_broker_majority, copies=1),
    "held-follower": Recipe(_held_follower, isolated=True),
    "last-in-sync": Recipe(_last_in_sync, isolated=True),
    "isr-and-controller": Recipe(_isr_and_controller, isolated=True),
    "cut-off-leader": Recipe(_cut_off_leader, copies=2),
    "lost-answers": Recipe(_lost_answers, copies=2),
    "deaf-preferred": Recipe(_deaf_preferred, isolated=True),
    "group-coordinator": Recipe(_coordinator_of("__consumer_offsets"), copies=2),
    "transaction-coordinator": Recipe(_coordinator_of("__transaction_state"), copies=2),
    "rolling-bounce": Recipe(_rolling_bounce, copies=2),
    "cut-off-controller": Recipe(_cut_off_controller, copies=1, isolated=True),
    "flapping": Recipe(_flapping),
    "colliding-elections": Recipe(_colliding_elections, copies=1, isolated=True),
    "voters-power": Recipe(_voters_power, copies=1, isolated=True, disks=True),
}
"""Gambits that a random schedule draws from, by their names there."""


def drawn_gambit(kind: str, topology: Topology, source: random.Random) -> tuple[Script, int]:
    """The moves of a gambit, and about how long they take, ms."""
    moves = GAMBITS[kind].moves(source, topology)
    return moves, sum(map(_about_ms, moves))


def _about_ms(move: GambitMove) -> int:
    """As measured on two cores that have nothing else to do: a restarted broker answers after 2 to 3 s.

    Where it takes longer, what comes later is later, and none is begun after the schedule's end.
    """
    match move:
        case Pass(ms):
            return ms
        case Strike(blows, apart_ms):
            return 300 + apart_ms * (len(blows) - 1)
        case Mend(names, apart_ms):
            return 1_500 + apart_ms * (len(names) - 1)
        case Until(AllInSync()):
            return 500
        case Until():
            return 1_500
        case _:
            return 100


def _blows(at: list[tuple[Part, Fault]], first: int = 1) -> tuple[Blow, ...]:
    return tuple(Blow(f"f{number}", part, fault) for number, (part, fault) in enumerate(at, start=first))


def _shuffled(source: random.Random, things: Sequence[T]) -> tuple[T, ...]:
    return tuple(source.sample(list(things), len(things)))


def _isolated(source: random.Random) -> Partition:
    return Partition(Pattern.ISOLATE_ONE, draw=_draw(source))


def _draw(source: random.Random) -> int:
    return source.randrange(_DRAWS)
