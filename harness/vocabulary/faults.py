"""Faults in scenarios: kind, target and parameters.  Symbolic targets are resolved during the run."""

from enum import StrEnum
from typing import Literal

from harness.vocabulary.administration import Member
from harness.vocabulary.injected import Injected, lacks_file_systems, lacks_log_dir, lacks_nodes
from harness.vocabulary.topology import Among, Mode, Topology

_PERCENT = (10, 90)


class Pattern(StrEnum):
    """Which nodes are cut off from each other."""

    ISOLATE_ONE = "isolate-one"
    """The target is cut off from every other node, in both directions."""
    HALVES = "halves"
    """The nodes are split into two halves; the target is in the smaller one."""
    MAJORITY_RING = "majority-ring"
    """Every node sees a majority, and no two nodes see the same majority (Jepsen's ring)."""
    BRIDGE = "bridge"
    """The nodes are split into two halves; only the target sees both halves."""
    ONE_WAY_PACKETS = "one-way-packets"
    """No packet from the target reaches the others, so TCP's acknowledgements are lost too."""
    ONE_WAY_CALLS = "one-way-calls"
    """The target can't connect to the others' listeners; they can connect to the target's."""
    ONE_WAY_LINK = "one-way-link"
    """No packet from the target reaches one other node; the other direction stays open."""
    LINK = "link"
    """The target is cut off from one other node, in both directions."""

    @property
    def of_link(self) -> bool:
        """Whether it cuts the target off from one other node only."""
        return self in (Pattern.LINK, Pattern.ONE_WAY_LINK)


class Flavour(StrEnum):
    """What happens to a packet that a partition blocks."""

    DROP = "drop"
    REJECT = "reject"


class Target(StrEnum):
    """Roles that are resolved to nodes when the fault begins; the resolution is recorded."""

    ACTIVE_CONTROLLER = "active-controller"
    VOTER = "voter"
    PARTITION_LEADER = "partition-leader"
    RANDOM = "random"
    QUORUM_FOLLOWER = "quorum-follower"
    """A controller that does not lead the quorum."""
    BROKER = "broker"
    """A broker, whether or not it is also a controller."""


class Partition(Injected, frozen=True, tag="partition"):
    """Cut the network.

    Attributes:
        pattern: which nodes are cut off from which.
        target: the node at the centre of the pattern.
        flavour: drop (connections hang, as in practice) or reject (connections are reset).
        among: all nodes, or only controllers or only brokers (isolated mode).
        draw: decides among nodes with the same role, so that a schedule fixes the choice.
        inward: for one-way patterns, block packets or connections from the other nodes to the target instead
            of those from the target.
    """

    glyph = "M-5 0H-1.6M1.6 0H5M-1.6 -4.5V4.5M1.6 -4.5V4.5"

    pattern: Pattern
    target: Target | Member = Target.RANDOM
    flavour: Flavour = Flavour.DROP
    among: Among = Among.ALL
    draw: int = 0
    inward: bool = False

    def unavailable_because(self, topology: Topology) -> str | None:
        """Each side needs a node.  Controllers and brokers are separate nodes only in isolated mode."""
        many = self.pattern in (Pattern.BRIDGE, Pattern.MAJORITY_RING)
        return lacks_nodes(f"{self.pattern} partition", 3 if many else 2, self.among, topology)


class AtNode(Injected, frozen=True):
    """A fault of one node, without further options.

    Attributes:
        target: the node.
        draw: decides among nodes with the same role, so that a schedule fixes the choice.
    """

    target: Target | Member = Target.RANDOM
    draw: int = 0


class Kill(AtNode, frozen=True, tag="kill"):
    """Kill a node with SIGKILL; the heal starts it again."""

    ends_processes = True
    silences = True
    ends_cleanly = False
    tears_writes = False
    loses_unsynced = False
    wipes = False
    drawn = True
    glyph = "M-3.8 -3.8L3.8 3.8M3.8 -3.8L-3.8 3.8"


class Pause(AtNode, frozen=True, tag="pause"):
    """Freeze a node's process; the heal lets it continue."""

    silences = True
    drawn = True
    glyph = "M-2.4 -4.2V4.2M2.4 -4.2V4.2"


class Stop(AtNode, frozen=True, tag="stop"):
    """Stop a node cleanly (SIGTERM, controlled shutdown); the heal starts it again."""

    ends_processes = True
    silences = True
    ends_cleanly = True
    tears_writes = False
    loses_unsynced = False
    wipes = False
    drawn = True
    glyph = "M-3.6 -3.6H3.6V3.6H-3.6Z"


class Upgrade(Stop, frozen=True, tag="upgrade"):
    """Stop a node cleanly and replace its Kafka version; the heal starts the new one on the same disks.

    Later starts of the node use this version too.  If the version is older, this is a downgrade.

    Attributes:
        version: the version of Kafka; None: the run's.
    """

    drawn = False
    glyph = "M-4 4.4V-.4H4V4.4M0 2V-4.6M-3 -1.8L0 -4.8L3 -1.8"

    version: str | None = None


class LostAnswers(Injected, frozen=True, tag="lost-answers"):
    """Lose a broker's responses to its clients.  It still receives and executes their requests.

    TCP's acknowledgements are lost with the responses, so a connection stalls when its window is full.
    """

    at_brokers = True
    glyph = "M4.6 0H-3.4M-.4 -3L-3.4 0L-.4 3M-4.6 -4.4V4.4"

    target: Target | Member = Target.BROKER
    draw: int = 0


class LossPattern(StrEnum):
    """The nodes between which packets are lost."""

    LINK = "link"
    """Between the target and one other node, in both directions."""
    NODE = "node"
    """Between the target and every other node, in both directions."""
    MESH = "mesh"
    """Between every two nodes, in both directions."""
    CLIENTS = "clients"
    """From clients to the target, which is a broker.  Packets from other nodes are not lost."""


class PacketLoss(Injected, frozen=True, tag="packet-loss"):
    """Lose packets at random; no node is cut off.

    TCP sends lost packets again, so data arrives late and in bursts.

    Attributes:
        pattern: between which nodes packets are lost.
        target: the node at the centre of the pattern.
        among: all nodes, or only controllers or only brokers (isolated mode); does not apply to clients.
        percent: average percentage of lost packets, 10 to 90.
        draw: decides among nodes with the same role; it does not fix which packets are lost.
    """

    glyph = "M-5 0H-3.2M-1 0H1M3.2 0H5M-2.1 -3.4V3.4M2.1 -3.4V3.4"

    pattern: LossPattern
    target: Target | Member = Target.RANDOM
    among: Among = Among.ALL
    percent: int = 50
    draw: int = 0

    def unavailable_because(self, topology: Topology) -> str | None:
        """A probe must see packets that are lost and packets that arrive.  A link needs two nodes."""
        least, most = _PERCENT
        if not least <= self.percent <= most:
            return f"of a hundred packets {least} to {most} can be lost, not {self.percent}"
        if self.pattern is LossPattern.CLIENTS:
            return None
        return lacks_nodes(f"{self.pattern} loss of packets", 2, self.among, topology)


class HeldRequests(Injected, frozen=True, tag="held-requests"):
    """Delay clients' packets to a broker on half of their connections; they arrive after the heal.

    Packets on new connections are not delayed, so requests on them overtake earlier ones.

    Attributes:
        target: the broker.
        draw: decides which connections are affected.
    """

    at_brokers = True
    glyph = "M-4.6 0H3.4M.4 -3L3.4 0L.4 3M4.6 -4.4V4.4"

    target: Target | Member = Target.BROKER
    draw: int = 0


class HeldReports(Injected, frozen=True, tag="held-reports"):
    """Delay a broker's packets to controllers on its current connections; they arrive after the heal.

    Packets on new connections, for example of its next process, are not delayed, so requests on them overtake
    earlier ones.  Needs isolated mode: in combined mode packets between voters would be delayed too.
    """

    glyph = "M-4.6 0H3.4M.4 -3L3.4 0L.4 3M4.6 -4.4V4.4M-4.6 -4.4V4.4"

    target: Target | Member = Target.BROKER
    draw: int = 0

    def unavailable_because(self, topology: Topology) -> str | None:
        """A broker that is also a voter sends controllers more than its reports as a broker."""
        if topology.mode is Mode.COMBINED:
            return "in combined mode a broker's connections to controllers are those of a voter too"
        return None


class Scope(StrEnum):
    """Which files of a disk are removed."""

    ALL = "all"
    """All files, as with a new disk: it is formatted when the node starts again."""
    KEEP_META = "keep-meta"
    """All files except those that formatting wrote: meta.properties and the bootstrap checkpoints."""
    TOPIC = "topic"
    """The folders of a topic's partitions."""


class WipeDisk(Injected, frozen=True, tag="wipe-disk"):
    """Stop a node and remove files of its disk; the heal starts it again.

    Attributes:
        target: the node.
        scope: which files of the disk are removed.
        by: whether the node is killed or stopped cleanly first.
        topic: topic whose partitions are removed, if the scope is a topic; None: all except the cluster's
            metadata.
        new_directory_id: whether a completely new disk has another directory id.  Then a voter of a dynamic
            quorum is no longer a voter, and is formatted as an observer.  With its old id it is formatted
            with the quorum's first set of voters, as a set-up script would do that is run again.
        log_dir: which log directory, counted from 1; None: all log directories of the node.
        draw: decides among nodes with the same role.
        sparing: inject the fault only if, by the cluster's reports at that moment, Kafka promises that no
            acknowledged record is lost with the disk; otherwise the fault is withheld.
    """

    ends_processes = True
    silences = True
    ends_cleanly = False
    tears_writes = False
    loses_unsynced = False
    wipes = True
    glyph = "M-4.4 0A4.4 4.4 0 1 0 4.4 0A4.4 4.4 0 1 0 -4.4 0Z"

    target: Target | Member = Target.RANDOM
    scope: Scope = Scope.ALL
    by: Literal["kill", "stop"] = "kill"
    topic: str | None = None
    new_directory_id: bool = True
    log_dir: int | None = None
    draw: int = 0
    sparing: bool = False

    @property
    def exits_cleanly(self) -> bool | None:
        """A wipe of the disk removes the file that marks a clean shutdown; a wipe of topics keeps it."""
        return None if self.by == "stop" and self.scope is Scope.TOPIC else self.ends_cleanly

    def unavailable_because(self, topology: Topology) -> str | None:
        """The topology must have the log directory."""
        return lacks_log_dir(self.log_dir, topology)


class PowerLoss(Injected, frozen=True, tag="power-loss"):
    """Kill a node and lose the data that was not synced to its disk; the heal starts it again.

    Needs a topology whose disks are separate file systems.

    Attributes:
        target: the node.
        draw: decides among nodes with the same role.
        sparing: as for `WipeDisk`.
    """

    ends_processes = True
    silences = True
    ends_cleanly = False
    tears_writes = False
    loses_unsynced = True
    wipes = False
    glyph = "M1.2 -4.8L-3 .8H0L-1.2 4.8L3 -.8H0Z"

    target: Target | Member = Target.RANDOM
    draw: int = 0
    sparing: bool = False

    def unavailable_because(self, topology: Topology) -> str | None:
        """A folder of the host can't lose unsynced data."""
        return lacks_file_systems(topology)


class DeadDisk(Injected, frozen=True, tag="dead-disk"):
    """Let every access to a running node's disk fail.  The heal restores the disk without its unsynced data.

    Needs a topology whose disks are separate file systems.

    Attributes:
        target: the node.
        log_dir: which log directory, counted from 1; None: all log directories of the node.
        draw: decides among nodes with the same role.
        sparing: as for `WipeDisk`.
    """

    ends_processes = True
    tears_writes = False
    loses_unsynced = True
    wipes = False
    glyph = "M-4.4 0A4.4 4.4 0 1 0 4.4 0A4.4 4.4 0 1 0 -4.4 0ZM-3.1 3.1L3.1 -3.1"

    target: Target | Member = Target.RANDOM
    log_dir: int | None = None
    draw: int = 0
    sparing: bool = False

    def unavailable_because(self, topology: Topology) -> str | None:
        """The log directory must exist, on a file system that can be made to fail."""
        return lacks_log_dir(self.log_dir, topology) or lacks_file_systems(topology)


class TornWrite(Injected, frozen=True, tag="torn-write"):
    """Kill a node in the middle of its writes; the heal starts it again.

    Each of its logs, except the metadata log, then ends with an incomplete batch.  Complete batches stay.

    Attributes:
        target: the node.
        draw: decides among nodes with the same role, and how much of each batch is written.
    """

    ends_processes = True
    silences = True
    ends_cleanly = False
    tears_writes = True
    loses_unsynced = False
    wipes = False
    glyph = "M-3.8 -3.8L3.8 3.8M3.8 -3.8L.6 -.6M-.6 .6L-3.8 3.8"

    target: Target | Member = Target.BROKER
    draw: int = 0


OfNetwork = Partition | PacketLoss | LostAnswers | HeldRequests | HeldReports
"""Faults that lose or delay packets, and don't affect processes."""
OfDisk = WipeDisk | PowerLoss | DeadDisk
"""Faults after which a node may have lost data."""
OfProcess = Kill | Pause | Stop | Upgrade | TornWrite
"""Faults that end or freeze a node's process and keep its data."""
Fault = OfNetwork | OfProcess | OfDisk
