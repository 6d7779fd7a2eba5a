"""Gambits: short scripts whose nodes are chosen by the state of the cluster when they start.

A move names a node by the part that a choice assigned to it.  ``leader`` and ``follower-1`` … are the
replicas of a partition, ``controller`` and ``voter-1`` … the voters of the quorum.  ``successor`` is the
leader after the one that failed, ``newcomer-1`` … are brokers without a replica of the partition.
"""

import msgspec

from harness.vocabulary.administration import AdminOperation, ElectionType, Member
from harness.vocabulary.faults import Fault
from harness.vocabulary.moves import Acknowledged, NothingMoves, Pass
from harness.vocabulary.ranges import Count, Milliseconds, Share

Part = str | Member
"""A node, named by the part that a choice assigned to it, or by its place in the topology."""


class ChoosePartition(msgspec.Struct, frozen=True, tag_field="move", tag="choose-partition"):
    """Choose a partition of which every replica is in sync.

    Its leader is ``leader`` from then on.  The others are ``follower-1`` and so on, in random order.

    Attributes:
        draw: decides among partitions, and among followers.
        topic: the partition's topic; None: any of the workload's.
        replicas_min: the minimum number of replicas.
        preferred_follows: choose only a partition whose preferred leader does not lead; it is ``follower-1``.
        within_ms: how long to wait for such a partition.
    """

    draw: int
    topic: str | None = None
    replicas_min: Count = 2
    preferred_follows: bool = False
    within_ms: Milliseconds = 15_000


class ChooseCoordinator(msgspec.Struct, frozen=True, tag_field="move", tag="choose-coordinator"):
    """Choose the partition whose leader coordinates a group that has static members, all replicas in sync.

    Parts are assigned as by `ChoosePartition`.

    Attributes:
        draw: decides among these partitions, and among followers.
        within_ms: how long to wait for such a partition.
    """

    draw: int
    within_ms: Milliseconds = 15_000


class ChooseQuorum(msgspec.Struct, frozen=True, tag_field="move", tag="choose-quorum"):
    """Choose the quorum's leader as ``controller`` and the other voters as ``voter-1`` and so on.

    Attributes:
        draw: decides the order of the other voters.
        within_ms: how long to wait for a leader.
    """

    draw: int
    within_ms: Milliseconds = 15_000


class ChooseSuccessor(msgspec.Struct, frozen=True, tag_field="move", tag="choose-successor"):
    """Choose the current leader of the chosen partition as ``successor``.

    Attributes:
        within_ms: how long to wait for a leader.
    """

    within_ms: Milliseconds = 5_000


class ChooseNewcomers(msgspec.Struct, frozen=True, tag_field="move", tag="choose-newcomers"):
    """Choose brokers without a replica of the chosen partition as ``newcomer-1`` and so on, in random order.

    Attributes:
        draw: decides their order.
        count: the minimum number of these brokers.
        within_ms: how long to wait until they are up.
    """

    draw: int
    count: Count = 1
    within_ms: Milliseconds = 5_000


class Given(msgspec.Struct, frozen=True, tag_field="move", tag="given"):
    """Use the nodes that another run chose.

    Attributes:
        parts: nodes by part.
        where: topic and number of the partition; None: no partition.
        within_ms: how long to wait until all replicas of the partition are in sync.
    """

    parts: dict[str, Member]
    where: tuple[str, int] | None
    within_ms: Milliseconds = 15_000


Choice = ChoosePartition | ChooseCoordinator | ChooseQuorum | ChooseSuccessor | ChooseNewcomers | Given
"""Moves that assign parts to nodes."""


class FaultAt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault and its target.

    Attributes:
        name: name of the fault, unique within its gambit.
        at: the part that the fault hits; the fault's own target is ignored.
        fault: the fault.
        to: the node at the other end of a link that a partition cuts; None: the fault's draw decides.
    """

    name: str
    at: Part
    fault: Fault
    to: Part | None = None


class InjectAll(msgspec.Struct, frozen=True, tag_field="move", tag="inject-all"):
    """Begin faults in parallel: none waits until another is proven.

    A fault has no effect on a node that is already down.

    Attributes:
        faults: the faults with their targets.
        apart_ms: time from the beginning of one fault to the beginning of the next, milliseconds.
    """

    faults: tuple[FaultAt, ...]
    apart_ms: Milliseconds = 0


class HealAll(msgspec.Struct, frozen=True, tag_field="move", tag="heal-all"):
    """Heal faults in parallel, and wait until a probe has seen the end of each.

    Attributes:
        names: names of the faults, in the order in which they are healed.
        apart_ms: time from the heal of one fault to the heal of the next, milliseconds.
    """

    names: tuple[str, ...]
    apart_ms: Milliseconds = 0


class LedBy(msgspec.Struct, frozen=True, tag_field="kind", tag="led-by"):
    """This node leads the chosen partition."""

    part: Part


class LedByAnother(msgspec.Struct, frozen=True, tag_field="kind", tag="led-by-another"):
    """The chosen partition has a leader that is none of these nodes."""

    parts: tuple[Part, ...] = ()


class InSyncAlone(msgspec.Struct, frozen=True, tag_field="kind", tag="in-sync-alone"):
    """Only this node is in sync for the chosen partition, and it leads."""

    part: Part


class OutOfSync(msgspec.Struct, frozen=True, tag_field="kind", tag="out-of-sync"):
    """The chosen partition has a leader, and this node is not in sync."""

    part: Part


class Joined(msgspec.Struct, frozen=True, tag_field="kind", tag="joined"):
    """The chosen partition has a leader, and this node is in sync."""

    part: Part


class Leaderless(msgspec.Struct, frozen=True, tag_field="kind", tag="leaderless"):
    """The chosen partition has no leader."""


class AllInSync(msgspec.Struct, frozen=True, tag_field="kind", tag="all-in-sync"):
    """Every partition of the workload has a leader, and all its replicas are in sync."""


class QuorumLedByAnother(msgspec.Struct, frozen=True, tag_field="kind", tag="quorum-led-by-another"):
    """The quorum has a leader that is not this node."""

    part: Part


class QuorumLed(msgspec.Struct, frozen=True, tag_field="kind", tag="quorum-led"):
    """The quorum has a leader with a high watermark."""


class Observing(msgspec.Struct, frozen=True, tag_field="kind", tag="observing"):
    """The quorum's leader reports this node as an observer: the node fetches, but its disk has no vote."""

    part: Part


class BeingAdded(msgspec.Struct, frozen=True, tag_field="kind", tag="being-added"):
    """This node is a replica of the chosen partition, and is not in sync."""

    part: Part


Situational = (
    LedBy
    | LedByAnother
    | InSyncAlone
    | OutOfSync
    | Joined
    | Leaderless
    | AllInSync
    | QuorumLed
    | QuorumLedByAnother
    | Observing
    | BeingAdded
    | NothingMoves
)
"""Conditions about the cluster's current state."""


class TopicsRemoved(msgspec.Struct, frozen=True, tag_field="kind", tag="topics-removed"):
    """At least this many deletions of topics were acknowledged since the wait began."""

    count: Count


class RecordsDeleted(msgspec.Struct, frozen=True, tag_field="kind", tag="records-deleted"):
    """A request to delete records of the chosen partition was acknowledged since the wait began."""


class MemberAway(msgspec.Struct, frozen=True, tag_field="kind", tag="member-away"):
    """A static member of a group left for a while (KIP-345) since the wait began, and is away.

    The leader of the chosen partition coordinates its group.
    """


class StillAway(msgspec.Struct, frozen=True, tag_field="kind", tag="still-away"):
    """A member that was away when the last wait for `MemberAway` ended has not begun to come back since."""


Awaited = Situational | Acknowledged | TopicsRemoved | RecordsDeleted | MemberAway | StillAway
"""Conditions that a gambit may wait for."""


class Until(msgspec.Struct, frozen=True, tag_field="move", tag="until"):
    """Wait for a condition; the gambit ends if it is not reached within the bound."""

    condition: Awaited
    within_ms: Milliseconds


class WaitAtMost(msgspec.Struct, frozen=True, tag_field="move", tag="wait-at-most"):
    """Wait for a condition, and continue whether or not it is reached within the bound."""

    condition: Awaited
    within_ms: Milliseconds


class Request(msgspec.Struct, frozen=True, tag_field="move", tag="request"):
    """Request an admin operation; the gambit continues after any answer.

    Attributes:
        operation: the operation.
        answered: whether the next move waits for the answer, for a few seconds at most.
    """

    operation: AdminOperation
    answered: bool = False


class ReassignChosen(msgspec.Struct, frozen=True, tag_field="kind", tag="reassign-chosen"):
    """Reassign the chosen partition (KIP-455).

    Attributes:
        wanted: the requested replicas, the preferred leader first; None cancels the ongoing reassignment.
        throttle_bytes_per_s: limit of the replication rate; None: no limit.
    """

    wanted: tuple[Part, ...] | None
    throttle_bytes_per_s: int | None = None


class AlterChosen(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-chosen"):
    """Set one config of the chosen partition's topic."""

    config: str
    value: str


class ElectChosen(msgspec.Struct, frozen=True, tag_field="kind", tag="elect-chosen"):
    """An election of one type for the chosen partition (KIP-460)."""

    type: ElectionType


class AddPart(msgspec.Struct, frozen=True, tag_field="kind", tag="add-part"):
    """Add a node to the voters, with the current directory id of its disk."""

    part: Part


class RemovePart(msgspec.Struct, frozen=True, tag_field="kind", tag="remove-part"):
    """Remove a node from the voters, with the directory id that it has in the leader's set of voters."""

    part: Part


ChosenOperation = ReassignChosen | AlterChosen | ElectChosen | AddPart | RemovePart
"""Operations that can be requested for the chosen partition or nodes."""


class RequestForChosen(msgspec.Struct, frozen=True, tag_field="move", tag="request-for-chosen"):
    """Request an operation on the chosen partition or nodes; the gambit continues after any answer.

    Attributes:
        what: the operation.
        answered: whether the next move waits for the answer, for a few seconds at most.
    """

    what: ChosenOperation
    answered: bool = True


class DeleteFromChosen(msgspec.Struct, frozen=True, tag_field="move", tag="delete-from-chosen"):
    """Request the deletion of the oldest records of the chosen partition, without waiting for the answer.

    Attributes:
        share: share of its records to delete, 0 to 1.
    """

    share: Share


GambitMove = (
    Choice | InjectAll | HealAll | Until | WaitAtMost | Pass | Request | RequestForChosen | DeleteFromChosen
)


class Gambit(msgspec.Struct, frozen=True):
    """A script of a drawn schedule.

    Attributes:
        at_ms: the earliest time at which it begins, from the beginning of the load.
        kind: its name in `harness.plan.gambits.GAMBITS`.
        moves: its moves; faults that are in force after the last move are healed.
        lasts_ms: about how long it takes.  If it takes longer, the rest of the schedule is delayed.
    """

    at_ms: Milliseconds
    kind: str
    moves: tuple[GambitMove, ...]
    lasts_ms: Milliseconds
