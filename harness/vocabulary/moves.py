"""Scripted schedules: moves that are carried out in order, each after a condition is met."""

import msgspec

from harness.vocabulary.administration import AdminOperation, Member
from harness.vocabulary.faults import Fault
from harness.vocabulary.ranges import Count, Duration, Milliseconds


class LeaderIs(msgspec.Struct, frozen=True, tag_field="kind", tag="leader-is"):
    """This broker leads the partition; None: the partition has no leader."""

    topic: str
    partition: Count
    member: Member | None


class InSync(msgspec.Struct, frozen=True, tag_field="kind", tag="in-sync"):
    """A partition's in-sync replicas are exactly these."""

    topic: str
    partition: Count
    members: tuple[Member, ...]


class ReplicasAre(msgspec.Struct, frozen=True, tag_field="kind", tag="replicas-are"):
    """A partition's replicas are exactly these, in this order."""

    topic: str
    partition: Count
    members: tuple[Member, ...]


class VotersAre(msgspec.Struct, frozen=True, tag_field="kind", tag="voters-are"):
    """The quorum's leader reports exactly these voters."""

    members: tuple[Member, ...]


class IsObserver(msgspec.Struct, frozen=True, tag_field="kind", tag="is-observer"):
    """The quorum's leader reports a node as an observer."""

    member: Member


class LeadsQuorum(msgspec.Struct, frozen=True, tag_field="kind", tag="leads-quorum"):
    """The quorum has a leader with a high watermark; if a member is given, it is this member."""

    member: Member | None = None


class VotersCaughtUp(msgspec.Struct, frozen=True, tag_field="kind", tag="voters-caught-up"):
    """Every voter that the quorum's leader reports has all committed records.

    The leader appends a record twice a second.  So a voter that no longer fetches falls behind in the
    leader's reports within a second.
    """


class Moves(msgspec.Struct, frozen=True, tag_field="kind", tag="moves"):
    """A reassignment of a partition is ongoing."""

    topic: str
    partition: Count


class NothingMoves(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing-moves"):
    """No reassignment is ongoing."""


class Acknowledged(msgspec.Struct, frozen=True, tag_field="kind", tag="acknowledged"):
    """At least this many records have been acknowledged since the move began."""

    count: Count


Condition = (
    LeaderIs
    | InSync
    | ReplicasAre
    | VotersAre
    | VotersCaughtUp
    | IsObserver
    | LeadsQuorum
    | Moves
    | NothingMoves
    | Acknowledged
)


class Inject(msgspec.Struct, frozen=True, tag_field="move", tag="inject"):
    """Begin a fault; it lasts until a `Heal` with its name."""

    name: str
    fault: Fault


class Heal(msgspec.Struct, frozen=True, tag_field="move", tag="heal"):
    """Heal a fault as soon as it has lasted as long as the scenario's assumptions require."""

    name: str


class Perform(msgspec.Struct, frozen=True, tag_field="move", tag="perform"):
    """Request an admin operation.

    Attributes:
        operation: the operation.
        expect: Kafka's error codes that an answer may have; with any other code the run proves nothing.
            Empty: any code.
        timeout_ms: the timeout that is sent to Kafka with the request.
        background: whether the next move begins before the answer arrives.
        until_ms: how long to repeat the request until an expected code is returned; 0: don't repeat it.
    """

    operation: AdminOperation
    expect: tuple[int, ...] = ()
    timeout_ms: Milliseconds = 10_000
    background: bool = False
    until_ms: Milliseconds = 0


class Await(msgspec.Struct, frozen=True, tag_field="move", tag="await"):
    """Wait for a condition; if it is not met within this time, the run proves nothing."""

    condition: Condition
    within_ms: Milliseconds = 30_000


class Pass(msgspec.Struct, frozen=True, tag_field="move", tag="pass"):
    """Let time pass under load."""

    ms: Milliseconds


class Configure(msgspec.Struct, frozen=True, tag_field="move", tag="configure"):
    """Change a node's server.properties for its next start.

    Attributes:
        member: the node.
        properties: values by name; a node's name in braces is replaced by its address; None removes one.
    """

    member: Member
    properties: dict[str, str | None]


Move = Inject | Heal | Perform | Await | Pass | Configure


class ScriptedSchedule(msgspec.Struct, frozen=True, tag_field="schedule", tag="scripted"):
    """Moves that are carried out in order.

    Attributes:
        moves: the moves.
        duration_ms: about how long they take; only used to show progress.
    """

    moves: tuple[Move, ...]
    duration_ms: Duration
