"""Faults as a scenario names them: what kind, at whom, how; targets are symbolic until the run."""

from enum import StrEnum
from typing import Literal

import msgspec

from harness.vocabulary.administration import Member


class Pattern(StrEnum):
    """Who is cut from whom."""

    ISOLATE_ONE = "isolate-one"
    """The target from every other node, both ways."""
    HALVES = "halves"
    """The nodes in two halves, the target in the smaller one."""
    MAJORITY_RING = "majority-ring"
    """Every node sees a majority, no two nodes see the same one (Jepsen's ring)."""
    BRIDGE = "bridge"
    """Two halves that share one node, the target, which sees both."""
    ONE_WAY_PACKETS = "one-way-packets"
    """No packet from the target reaches the others: TCP's acknowledgements die too."""
    ONE_WAY_CALLS = "one-way-calls"
    """The target can't call the others' listeners; they still can call the target."""
    LINK = "link"
    """The target from one other node, both ways."""


class Flavour(StrEnum):
    """What happens to a packet at a cut."""

    DROP = "drop"
    REJECT = "reject"


class Target(StrEnum):
    """Roles of the moment that are resolved to nodes when the fault begins; the resolution is recorded."""

    ACTIVE_CONTROLLER = "active-controller"
    VOTER = "voter"
    PARTITION_LEADER = "partition-leader"
    RANDOM = "random"
    QUORUM_FOLLOWER = "quorum-follower"
    """A controller that does not lead the quorum."""
    BROKER = "broker"
    """A broker, whatever else it may be."""


class Among(StrEnum):
    """Which nodes a partition is drawn among."""

    ALL = "all"
    CONTROLLERS = "controllers"
    BROKERS = "brokers"


class Partition(msgspec.Struct, frozen=True, tag_field="kind", tag="partition"):
    """Cut the network.

    Attributes:
        pattern: who is cut from whom.
        target: the node that the pattern is drawn around.
        flavour: drop (connections hang, as in life) or reject (connections are reset).
        among: all nodes, or controllers or brokers only (isolated mode).
        draw: decides among equals, so that a schedule fixes it.
        inward: the one-way patterns the other way round: cut what the others send, or call, to the target.
    """

    pattern: Pattern
    target: Target | Member = Target.RANDOM
    flavour: Flavour = Flavour.DROP
    among: Among = Among.ALL
    draw: int = 0
    inward: bool = False


class Kill(msgspec.Struct, frozen=True, tag_field="kind", tag="kill"):
    """SIGKILL a node, and start it again at the heal."""

    target: Target | Member = Target.RANDOM
    draw: int = 0


class Pause(msgspec.Struct, frozen=True, tag_field="kind", tag="pause"):
    """Freeze a node's process, and thaw it at the heal."""

    target: Target | Member = Target.RANDOM
    draw: int = 0


class Stop(msgspec.Struct, frozen=True, tag_field="kind", tag="stop"):
    """Stop a node cleanly (SIGTERM, controlled shutdown), and start it again at the heal."""

    target: Target | Member = Target.RANDOM
    draw: int = 0


class LostAnswers(msgspec.Struct, frozen=True, tag_field="kind", tag="lost-answers"):
    """Lose what a broker tells its clients, and none of what they ask: it does so without their learning it.

    TCP's acknowledgements go with the answers, so a connection falls silent once its window is full.
    """

    target: Target | Member = Target.BROKER
    draw: int = 0


class LossPattern(StrEnum):
    """Between whom packets are lost."""

    LINK = "link"
    """Between the target and one other node, both ways."""
    NODE = "node"
    """Between the target and every other node, both ways."""
    MESH = "mesh"
    """Between all nodes."""
    CLIENTS = "clients"
    """From clients to the target, a broker; what other nodes send it arrives."""


class PacketLoss(msgspec.Struct, frozen=True, tag_field="kind", tag="packet-loss"):
    """Lose some of the packets, each by chance; nobody is cut off.

    TCP sends again what was lost, so that links are slow: what is sent arrives late, and in jumps.

    Attributes:
        pattern: between whom.
        target: the node that the pattern is drawn around.
        among: all nodes, or controllers or brokers only (isolated mode); of clients it says nothing.
        percent: how many of a hundred packets are lost on average, 10 to 90.
        draw: decides among equals, so that a schedule fixes it; which packets are lost, nothing fixes.
    """

    pattern: LossPattern
    target: Target | Member = Target.RANDOM
    among: Among = Among.ALL
    percent: int = 50
    draw: int = 0


class HeldRequests(msgspec.Struct, frozen=True, tag_field="kind", tag="held-requests"):
    """Hold what clients send a broker on half of the connections they have; it arrives after the heal.

    Who connects anew is heard at once, and so overtakes what was sent before.

    Attributes:
        target: the broker.
        draw: decides which connections.
    """

    target: Target | Member = Target.BROKER
    draw: int = 0


class HeldReports(msgspec.Struct, frozen=True, tag_field="kind", tag="held-reports"):
    """Hold what a broker sends controllers on the connections that it has; it arrives after the heal.

    On connections that it makes anew, as its next process does, it is heard at once, and so overtakes that.
    Needs isolated mode: elsewhere what voters send each other would wait too.
    """

    target: Target | Member = Target.BROKER
    draw: int = 0


class Scope(StrEnum):
    """How much of a disk goes."""

    ALL = "all"
    """Everything, as with a new disk: it is formatted when the node starts again."""
    KEEP_META = "keep-meta"
    """Everything but what formatting wrote: meta.properties and the bootstrap checkpoints."""
    TOPIC = "topic"
    """The folders of a topic's partitions."""


class WipeDisk(msgspec.Struct, frozen=True, tag_field="kind", tag="wipe-disk"):
    """Take a node down and remove what its disk holds; start it again at the heal.

    Attributes:
        target: the node.
        scope: how much of the disk goes.
        by: whether the node is killed or stopped cleanly first.
        topic: whose partitions go, where the scope is a topic; None: all but the cluster's metadata.
        new_directory_id: whether a disk that is new in all has another directory id.  A voter of a dynamic
            quorum is then no voter any more, and formatted as an observer; with its old id it is formatted
            with the quorum's first set of voters, as the script that set it up would do it again.
        log_dir: which log directory, counted from 1; None: all that the node has.
        draw: decides among equals.
        sparing: do it only where Kafka promises that nothing acknowledged goes with the disk, by what the
            cluster tells at that moment; where it does not, the fault is withheld.
    """

    target: Target | Member = Target.RANDOM
    scope: Scope = Scope.ALL
    by: Literal["kill", "stop"] = "kill"
    topic: str | None = None
    new_directory_id: bool = True
    log_dir: int | None = None
    draw: int = 0
    sparing: bool = False


class PowerLoss(msgspec.Struct, frozen=True, tag_field="kind", tag="power-loss"):
    """Kill a node and lose what its disk was not asked to sync; start it again at the heal.

    Needs a topology whose disks are file systems of their own.

    Attributes:
        target: the node.
        draw: decides among equals.
        sparing: as for `WipeDisk`.
    """

    target: Target | Member = Target.RANDOM
    draw: int = 0
    sparing: bool = False


class DeadDisk(msgspec.Struct, frozen=True, tag_field="kind", tag="dead-disk"):
    """Let every access to a running node's disk fail; at the heal the disk is back, unsynced data lost.

    Needs a topology whose disks are file systems of their own.

    Attributes:
        target: the node.
        log_dir: which log directory, counted from 1; None: all that the node has.
        draw: decides among equals.
        sparing: as for `WipeDisk`.
    """

    target: Target | Member = Target.RANDOM
    log_dir: int | None = None
    draw: int = 0
    sparing: bool = False


class TornWrite(msgspec.Struct, frozen=True, tag_field="kind", tag="torn-write"):
    """Kill a node in the middle of its writes; start it again at the heal.

    Each of its logs, but the metadata's, ends with a part of a batch then; what was whole stays.

    Attributes:
        target: the node.
        draw: decides among equals, and how much of each batch is there.
    """

    target: Target | Member = Target.BROKER
    draw: int = 0


OfNetwork = Partition | PacketLoss | LostAnswers | HeldRequests | HeldReports
"""Faults that keep packets from arriving, and leave every process alone."""
OfDisk = WipeDisk | PowerLoss | DeadDisk
"""Faults after which a node may lack what it had."""
OfProcess = Kill | Pause | Stop | TornWrite
"""Faults that take a node's process away and leave it what it had."""
Fault = OfNetwork | OfProcess | OfDisk
