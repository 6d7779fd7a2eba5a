"""Gambits: short scripts whose nodes are chosen by the state of the cluster when they start.

A move names nodes by the parts that a choice gave them: ``leader`` and ``follower-1`` … of a partition,
``controller`` and ``voter-1`` … of the quorum, ``successor`` of a leader that is gone, ``newcomer-1`` … of
those that have no copy of the partition.
"""

import msgspec

from harness.vocabulary.administration import AdminOperation, ElectionType, Member
from harness.vocabulary.faults import Fault
from harness.vocabulary.moves import Acknowledged, NothingMoves, Pass

Part = str | Member
"""A node: by the part that a choice gave it, or by its place in the topology."""


class ChooseCopies(msgspec.Struct, frozen=True, tag_field="move", tag="choose-copies"):
    """Choose a partition of which every replica is in sync.

    Its leader is ``leader`` from then on, the others are ``follower-1`` and so on in drawn order.

    Attributes:
        draw: decides among partitions, and among followers.
        topic: of which topic; None: any of the workload's.
        copies: how many replicas it has at least.
        preferred_follows: only one that its preferred leader does not lead, which is ``follower-1`` then.
        within_ms: how long to wait for one to be there.
    """

    draw: int
    topic: str | None = None
    copies: int = 2
    preferred_follows: bool = False
    within_ms: int = 15_000


class ChooseQuorum(msgspec.Struct, frozen=True, tag_field="move", tag="choose-quorum"):
    """Choose the quorum's leader: it is ``controller``, the other voters are ``voter-1`` and so on.

    Attributes:
        draw: decides among the others.
        within_ms: how long to wait for a leader.
    """

    draw: int
    within_ms: int = 15_000


class ChooseSuccessor(msgspec.Struct, frozen=True, tag_field="move", tag="choose-successor"):
    """The current leader of the chosen partition is ``successor`` from then on.

    Attributes:
        within_ms: how long to wait for a leader.
    """

    within_ms: int = 5_000


class ChooseNewcomers(msgspec.Struct, frozen=True, tag_field="move", tag="choose-newcomers"):
    """Choose brokers that have no copy of the chosen partition: ``newcomer-1`` and so on, in drawn order.

    Attributes:
        draw: decides among them.
        count: how many there are at least.
        within_ms: how long to wait for them to be up.
    """

    draw: int
    count: int = 1
    within_ms: int = 5_000


class Given(msgspec.Struct, frozen=True, tag_field="move", tag="given"):
    """Take those who were chosen in another run.

    Attributes:
        parts: nodes by part.
        where: topic and number of the partition; its replicas are to be in sync.  None: no partition.
        within_ms: how long to wait for that.
    """

    parts: dict[str, Member]
    where: tuple[str, int] | None
    within_ms: int = 15_000


Choice = ChooseCopies | ChooseQuorum | ChooseSuccessor | ChooseNewcomers | Given
"""Moves that give parts."""


class Blow(msgspec.Struct, frozen=True):
    """A fault and its target.

    Attributes:
        name: name of the fault, within its gambit.
        at: the part that it hits, instead of the fault's own target.
        fault: the fault.
    """

    name: str
    at: Part
    fault: Fault


class Strike(msgspec.Struct, frozen=True, tag_field="move", tag="strike"):
    """Begin faults in parallel: none waits until another is proven.

    A blow at a node that is down already has nothing to do.

    Attributes:
        blows: the faults with their targets.
        apart_ms: time from the beginning of one to that of the next, milliseconds.
    """

    blows: tuple[Blow, ...]
    apart_ms: int = 0


class Mend(msgspec.Struct, frozen=True, tag_field="move", tag="mend"):
    """End faults side by side, and wait until each is seen to be over.

    Attributes:
        names: which, in the order in which they end.
        apart_ms: from the end of one to that of the next.
    """

    names: tuple[str, ...]
    apart_ms: int = 0


class LedBy(msgspec.Struct, frozen=True, tag_field="kind", tag="led-by"):
    """The chosen partition is led by a node."""

    part: Part


class LedByAnother(msgspec.Struct, frozen=True, tag_field="kind", tag="led-by-another"):
    """The chosen partition has a leader, which is none of these."""

    parts: tuple[Part, ...] = ()


class InSyncAlone(msgspec.Struct, frozen=True, tag_field="kind", tag="in-sync-alone"):
    """Only this node is in sync for the chosen partition, and it leads."""

    part: Part


class OutOfSync(msgspec.Struct, frozen=True, tag_field="kind", tag="out-of-sync"):
    """The chosen partition is led, and this node is not in sync."""

    part: Part


class Leaderless(msgspec.Struct, frozen=True, tag_field="kind", tag="leaderless"):
    """The chosen partition has no leader."""


class AllInSync(msgspec.Struct, frozen=True, tag_field="kind", tag="all-in-sync"):
    """Every partition of the workload is led, and all its replicas are in sync."""


class QuorumLedByAnother(msgspec.Struct, frozen=True, tag_field="kind", tag="quorum-led-by-another"):
    """The quorum has a leader, which is not this node."""

    part: Part


class QuorumLed(msgspec.Struct, frozen=True, tag_field="kind", tag="quorum-led"):
    """The quorum has a leader that knows what is committed."""


class Observing(msgspec.Struct, frozen=True, tag_field="kind", tag="observing"):
    """The quorum's leader reports a node as an observer: it fetches, and with that disk it has no vote."""

    part: Part


class BeingAdded(msgspec.Struct, frozen=True, tag_field="kind", tag="being-added"):
    """The chosen partition has a node among its replicas, and the node is not in sync."""

    part: Part


Situational = (
    LedBy
    | LedByAnother
    | InSyncAlone
    | OutOfSync
    | Leaderless
    | AllInSync
    | QuorumLed
    | QuorumLedByAnother
    | Observing
    | BeingAdded
    | NothingMoves
)
"""Conditions of the cluster that name parts, or none."""


class TopicsRemoved(msgspec.Struct, frozen=True, tag_field="kind", tag="topics-removed"):
    """At least this many topics were removed, and that was acknowledged, since the wait began."""

    count: int


class RecordsDeleted(msgspec.Struct, frozen=True, tag_field="kind", tag="records-deleted"):
    """Records of the chosen partition were deleted on request, and that was acknowledged, since then."""


Awaited = Situational | Acknowledged | TopicsRemoved | RecordsDeleted
"""Conditions that a gambit may wait for."""


class Until(msgspec.Struct, frozen=True, tag_field="move", tag="until"):
    """Wait for a condition; the gambit ends if it is not reached within the bound."""

    condition: Awaited
    within_ms: int


class Linger(msgspec.Struct, frozen=True, tag_field="move", tag="linger"):
    """Wait for a condition, and continue whether or not it is reached within the bound."""

    condition: Awaited
    within_ms: int


class Ask(msgspec.Struct, frozen=True, tag_field="move", tag="ask"):
    """Request an admin operation; the gambit continues after any answer.

    Attributes:
        operation: the operation.
        answered: whether the next move waits for the answer, for a few seconds at most.
    """

    operation: AdminOperation
    answered: bool = False


class MoveThere(msgspec.Struct, frozen=True, tag_field="kind", tag="move-there"):
    """Other replicas for the chosen partition (KIP-455).

    Attributes:
        wanted: where its replicas are to be, the preferred leader first; None cancels what is in progress.
        throttle_bytes_per_s: limit for moving, None for none.
    """

    wanted: tuple[Part, ...] | None
    throttle_bytes_per_s: int | None = None


class AlterThere(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-there"):
    """Set one config of the chosen partition's topic."""

    config: str
    value: str


class ElectThere(msgspec.Struct, frozen=True, tag_field="kind", tag="elect-there"):
    """An election of one type for the chosen partition (KIP-460)."""

    type: ElectionType


class AddPart(msgspec.Struct, frozen=True, tag_field="kind", tag="add-part"):
    """Add a node to the voters, with the current directory id of its disk."""

    part: Part


class RemovePart(msgspec.Struct, frozen=True, tag_field="kind", tag="remove-part"):
    """Remove a node from the voters, with the directory id by which the leader has it among them."""

    part: Part


There = MoveThere | AlterThere | ElectThere | AddPart | RemovePart
"""What can be requested of those who were chosen."""


class AskThere(msgspec.Struct, frozen=True, tag_field="move", tag="ask-there"):
    """Request an operation on the chosen partition or nodes; the gambit continues after any answer.

    Attributes:
        what: the operation.
        answered: whether the next move waits for the answer, for a few seconds at most.
    """

    what: There
    answered: bool = True


class DeleteThere(msgspec.Struct, frozen=True, tag_field="move", tag="delete-there"):
    """Request the deletion of the oldest records of the chosen partition, without waiting for the answer.

    Attributes:
        share: share of its records to delete, 0 to 1.
    """

    share: float


GambitMove = Choice | Strike | Mend | Until | Linger | Pass | Ask | AskThere | DeleteThere


class Gambit(msgspec.Struct, frozen=True):
    """A script of a drawn schedule.

    Attributes:
        at_ms: when it begins after the load does, at the earliest.
        kind: its name among those that are drawn from.
        moves: what to do; what is in force at the end is ended.
        lasts_ms: about how long it takes; what comes after it is later where it takes longer.
    """

    at_ms: int
    kind: str
    moves: tuple[GambitMove, ...]
    lasts_ms: int
