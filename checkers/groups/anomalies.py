"""What the history of a consumer group can show."""

from checkers.verdict.kinds import AnomalyKind, by_id

UNDELIVERED = AnomalyKind(
    "undelivered",
    "A group went past a record that none of its members was given.",
    "a group whose members commit only what they were given is given every record at least once",
    "Kafka documentation, Design, Message Delivery Semantics; KIP-62",
)
OFFSET_LOST = AnomalyKind(
    "committed-offset-lost",
    "A member was to begin elsewhere than at the last offset that its group had committed.",
    "what a group has committed in earlier generations is where a later assignment begins",
    "Kafka documentation, Design, Consumer offset tracking; Jepsen: lost update",
)
ZOMBIE_COMMIT = AnomalyKind(
    "zombie-commit",
    "A commit was acknowledged to a member of a generation that the group had gone on from.",
    "a coordinator refuses commits of every generation but the current one",
    "Kafka protocol, OffsetCommit, ILLEGAL_GENERATION and UNKNOWN_MEMBER_ID; KIP-62",
)
PREMATURE_COMMIT = AnomalyKind(
    "premature-commit",
    "A commit was acknowledged to a member of a generation that none of its group had been told of yet.",
    "a coordinator refuses commits of every generation but the current one",
    "Kafka protocol, OffsetCommit, ILLEGAL_GENERATION; KIP-848, FENCED_MEMBER_EPOCH; "
    "ClassicGroup.validateMember, ConsumerGroup.validateOffsetCommit",
)
TWO_OWNERS = AnomalyKind(
    "two-owners",
    "Two members of one generation were assigned the same partition.",
    "within a generation each partition belongs to one member of the group",
    "Kafka protocol, group membership, SyncGroup; KIP-62",
)
REBALANCE_STUCK = AnomalyKind(
    "rebalance-stuck",
    "The cluster had recovered, and a group's only member was not assigned everything for a minute.",
    "a rebalance ends once every member that lives has joined and the others' sessions have expired",
    "KIP-62, rebalance timeout; KIP-134",
)

OUTSIDER_COMMIT = AnomalyKind(
    "outsider-commit",
    "Offsets of a group were set by somebody who was no member, while it had one.",
    "while a group has members, offsets are committed by them alone",
    "KIP-396; Kafka protocol, OffsetCommit, UNKNOWN_MEMBER_ID; ClassicGroup.validateOffsetCommit",
)
GROUP_DELETED = AnomalyKind(
    "group-deleted-with-members",
    "A group was deleted while it had a member.",
    "a group is deleted only once it has no members",
    "KIP-229; Kafka protocol, DeleteGroups, NON_EMPTY_GROUP",
)

ANOMALIES = by_id(
    UNDELIVERED,
    OFFSET_LOST,
    ZOMBIE_COMMIT,
    PREMATURE_COMMIT,
    TWO_OWNERS,
    REBALANCE_STUCK,
    OUTSIDER_COMMIT,
    GROUP_DELETED,
)
"""All of them, by id."""
