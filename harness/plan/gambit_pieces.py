"""Parts that several gambits share: their type, their time limits, and common random choices; pure."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from harness.vocabulary.faults import Fault, Partition, Pattern
from harness.vocabulary.gambits import AlterChosen, FaultAt, GambitMove, Part, RequestForChosen
from harness.vocabulary.topology import DiskKind, Mode, Quorum, Topology

Script = tuple[GambitMove, ...]
T = TypeVar("T")
REPLICAS = ("leader", "follower-1", "follower-2")
FOLLOWERS = REPLICAS[1:]
AT_ONCE_MS = 20
SEVERAL_S_MS = 15_000
"""A lost broker is fenced after 3 s here; a replica that does not fetch leaves the ISR after 6 to 9 s."""
BACK_MS = 30_000
MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
SEGMENT_MS = ("100", "250", "500")
"""A segment is rolled when a record arrives that is this much younger than the segment's first record."""
SLOW_BYTES_PER_S = 30_000
_DRAWS = 1 << 16


class Recipe(NamedTuple):
    """How one kind of gambit is drawn, and what it needs.

    Attributes:
        moves: function that draws its script.
        brokers: number of brokers that it needs.
        isolated: whether controllers must be separate nodes, to have a quorum while brokers are down.
        disks: whether disks must be separate file systems, for power losses.
        voters: number of voters that it needs in a dynamic quorum; 0 if it changes no voters.
        controllers: number of controllers that it needs in any quorum, for one to take another's place.
    """

    moves: Callable[[random.Random, Topology], Script]
    brokers: int = len(REPLICAS)
    isolated: bool = False
    disks: bool = False
    voters: int = 0
    controllers: int = 1

    def fits(self, topology: Topology) -> bool:
        """Whether the topology meets these needs."""
        apart = topology.mode is Mode.ISOLATED or not self.isolated
        own = topology.disk is not DiskKind.FOLDER or not self.disks
        controllers = len(topology.voters())
        voters = controllers if topology.quorum is Quorum.DYNAMIC else 0
        enough = voters >= self.voters and controllers >= self.controllers
        return topology.brokers >= self.brokers and apart and own and enough


def faults_at(at: list[tuple[Part, Fault]], first: int = 1) -> tuple[FaultAt, ...]:
    """Faults with their targets, named ``f1`` and so on, beginning with the number `first`."""
    return tuple(FaultAt(f"f{number}", part, fault) for number, (part, fault) in enumerate(at, start=first))


def shuffled(source: random.Random, things: Sequence[T]) -> tuple[T, ...]:
    """All the things in random order."""
    return tuple(source.sample(list(things), len(things)))


def altered(config: str, value: str) -> RequestForChosen:
    """Set a config of the chosen partition's topic."""
    return RequestForChosen(AlterChosen(config, value))


def isolated_one(source: random.Random) -> Partition:
    """A partition that cuts its target off from every other node."""
    return Partition(Pattern.ISOLATE_ONE, draw=fresh_draw(source))


def even(source: random.Random) -> bool:
    """True or false, with the same probability."""
    return source.random() < 0.5  # noqa: PLR2004 - an even chance


def fresh_draw(source: random.Random) -> int:
    """A random number that decides among the possible nodes once they are known."""
    return source.randrange(_DRAWS)
