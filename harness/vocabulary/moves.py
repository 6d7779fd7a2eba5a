"""Scripted schedules: moves that are carried out in order, each after a condition is met."""

import msgspec

from harness.vocabulary.administration import AdminOperation, Member
from harness.vocabulary.faults import Fault


class LeaderIs(msgspec.Struct, frozen=True, tag_field="kind", tag="leader-is"):
    """A partition is led by a broker; None: it has no leader."""

    topic: str
    partition: int
    member: Member | None


class InSync(msgspec.Struct, frozen=True, tag_field="kind", tag="in-sync"):
    """A partition's in-sync replicas are exactly these."""

    topic: str
    partition: int
    members: tuple[Member, ...]


class ReplicasAre(msgspec.Struct, frozen=True, tag_field="kind", tag="replicas-are"):
    """A partition's replicas are exactly these, in this order."""

    topic: str
    partition: int
    members: tuple[Member, ...]


class VotersAre(msgspec.Struct, frozen=True, tag_field="kind", tag="voters-are"):
    """The quorum's leader reports exactly these voters."""

    members: tuple[Member, ...]


class IsObserver(msgspec.Struct, frozen=True, tag_field="kind", tag="is-observer"):
    """The quorum's leader reports a node as an observer."""

    member: Member


class LeadsQuorum(msgspec.Struct, frozen=True, tag_field="kind", tag="leads-quorum"):
    """Some node leads the quorum and has a high watermark; with a member, that one."""

    member: Member | None = None


class VotersCaughtUp(msgspec.Struct, frozen=True, tag_field="kind", tag="voters-caught-up"):
    """Every voter that the quorum's leader reports has all that is committed.

    What a leader remembers of a voter that fetches no more falls behind within a second: it appends something
    twice a second.
    """


class Moves(msgspec.Struct, frozen=True, tag_field="kind", tag="moves"):
    """A reassignment of a partition is ongoing."""

    topic: str
    partition: int


class NothingMoves(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing-moves"):
    """No reassignment is ongoing any more."""


class Acknowledged(msgspec.Struct, frozen=True, tag_field="kind", tag="acknowledged"):
    """At least this many more records have been acknowledged since the move began."""

    count: int


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
    """Begin a fault, which is held until it is healed by its name."""

    name: str
    fault: Fault


class Heal(msgspec.Struct, frozen=True, tag_field="move", tag="heal"):
    """End a fault, as soon as it has been in force for as long as the scenario's assumptions want."""

    name: str


class Perform(msgspec.Struct, frozen=True, tag_field="move", tag="perform"):
    """Ask for an admin operation.

    Attributes:
        operation: what is requested.
        expect: Kafka's error codes of which each answer must be one for the run to mean anything; empty: any.
        timeout_ms: how long the request may take, as given to Kafka.
        background: continue with the next move while it is under way.
        until_ms: ask again until an expected code comes, for so long; 0: ask once.
    """

    operation: AdminOperation
    expect: tuple[int, ...] = ()
    timeout_ms: int = 10_000
    background: bool = False
    until_ms: int = 0


class Await(msgspec.Struct, frozen=True, tag_field="move", tag="await"):
    """Wait for a condition; the run means nothing if it is not reached within the bound."""

    condition: Condition
    within_ms: int = 30_000


class Pass(msgspec.Struct, frozen=True, tag_field="move", tag="pass"):
    """Let time pass under load."""

    ms: int


class Configure(msgspec.Struct, frozen=True, tag_field="move", tag="configure"):
    """Change a node's server.properties for its next start.

    Attributes:
        member: the node.
        properties: by name; a node's name in braces is replaced by its address; None removes a property.
    """

    member: Member
    properties: dict[str, str | None]


Move = Inject | Heal | Perform | Await | Pass | Configure


class ScriptedSchedule(msgspec.Struct, frozen=True, tag_field="schedule", tag="scripted"):
    """Moves in their order.

    Attributes:
        moves: what to do.
        duration_ms: about how long they take; for progress alone.
    """

    moves: tuple[Move, ...]
    duration_ms: int
