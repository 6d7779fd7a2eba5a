"""The anomalies of consumer groups."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

UNDELIVERED = AnomalyKind(
    "undelivered",
    "A group committed offsets beyond a record that none of its members received.",
    "A group whose members commit only what they received gets every record at least once.",
    "Kafka documentation, Design, Message Delivery Semantics; KIP-62",
)
OFFSET_LOST = AnomalyKind(
    "committed-offset-lost",
    "The start position of a member was not the last offset that its group had committed.",
    "An assignment starts at the offset that the group committed in earlier generations.",
    "Kafka documentation, Design, Consumer offset tracking; Jepsen: lost update",
)
ZOMBIE_COMMIT = AnomalyKind(
    "zombie-commit",
    "A commit was acknowledged to a member of an old generation.",
    "A coordinator rejects commits of all generations except the current one.",
    "Kafka protocol, OffsetCommit, ILLEGAL_GENERATION and UNKNOWN_MEMBER_ID; KIP-62",
)
PREMATURE_COMMIT = AnomalyKind(
    "premature-commit",
    "A commit was acknowledged to a member of a generation that no member of the group knew yet.",
    "A coordinator rejects commits of all generations except the current one.",
    "Kafka protocol, OffsetCommit, ILLEGAL_GENERATION; KIP-848, FENCED_MEMBER_EPOCH; "
    "ClassicGroup.validateMember, ConsumerGroup.validateOffsetCommit",
)
TWO_OWNERS = AnomalyKind(
    "two-owners",
    "Two members of one generation were assigned the same partition.",
    "In one generation each partition is assigned to one member of the group.",
    "Kafka protocol, group membership, SyncGroup; KIP-62",
)
REBALANCE_STUCK = AnomalyKind(
    "rebalance-stuck",
    "After recovery the only member of a group was not assigned all partitions for a minute.",
    "A rebalance ends once all live members have joined and the sessions of the others have expired.",
    "KIP-62, rebalance timeout; KIP-134",
)

OUTSIDER_COMMIT = AnomalyKind(
    "outsider-commit",
    "A client that was no member set offsets of a group that had a member.",
    "While a group has members, only they commit offsets.",
    "KIP-396; Kafka protocol, OffsetCommit, UNKNOWN_MEMBER_ID; ClassicGroup.validateOffsetCommit",
)
GROUP_DELETED = AnomalyKind(
    "group-deleted-with-members",
    "A group was deleted while it had a member.",
    "A group is deleted only if it has no members.",
    "KIP-229; Kafka protocol, DeleteGroups, NON_EMPTY_GROUP",
)
STATIC_REFUSED = AnomalyKind(
    "static-member-refused",
    "A static member was refused because its group was full, although the group had no more members than "
    "it may have, or because its instance id was in use, although no other member used it.",
    "A static member that comes back takes its own place in the group.",
    "KIP-345; KIP-848, group.consumer.max.size, UNRELEASED_INSTANCE_ID; KAFKA-20601, fixed in 4.4.0; "
    "GroupMetadataManager.throwIfInstanceIdIsUnreleased",
)
LOGGED_EPOCH_BACK = AnomalyKind(
    "group-epoch-back",
    "In the log of the offsets topic the epoch of a group, or of its target assignment, is not greater than "
    "before, or the epoch of a member is lower.",
    "In KIP-848's protocol the epochs of a group, of its target assignment and of its members grow.",
    "KIP-848, Group Epoch, Assignment Epoch, Member Epoch; GroupMetadataManager.updateSubscriptionMetadata",
)
LOGGED_EPOCH_AHEAD = AnomalyKind(
    "group-epoch-ahead",
    "In the log of the offsets topic a member's epoch is greater than that of the target assignment, or that "
    "of the target assignment is greater than the group's.",
    "A target assignment is computed for the group's epoch, and members move towards a target assignment.",
    "KIP-848, Assignment Epoch, Member Epoch; CurrentAssignmentBuilder.computeNextAssignment",
)
LOGGED_TWO_OWNERS = AnomalyKind(
    "assigned-before-released",
    "In the log of the offsets topic a member was assigned a partition that another member still had, or had "
    "yet to revoke.",
    "A partition is assigned to a member only after its former owner has released it or was removed.",
    "KIP-848, Current Assignment; ConsumerGroup.addPartitionEpochs; KAFKA-16147",
)
REMOVED_WITHOUT_EPOCH = AnomalyKind(
    "removed-without-epoch",
    "In the log of the offsets topic a member of a group was removed, and the group's epoch was not raised.",
    "When a member leaves or is fenced, the group's epoch is raised, so that others get its partitions.",
    "KIP-848, Group Epoch; GroupMetadataManager.consumerGroupFenceMembers",
)
FENCED_COMMIT = AnomalyKind(
    "fenced-commit",
    "A member's commit was acknowledged, but in the log of the offsets topic it follows records by which it "
    "had to be refused: the member was removed, or had another epoch and was assigned the partition later.",
    "A coordinator refuses commits of unknown members, and of epochs that are newer than the member's or "
    "older than the assignment of the partition.",
    "KIP-848, STALE_MEMBER_EPOCH and UNKNOWN_MEMBER_ID; KIP-1251; ConsumerGroup.validateOffsetCommit",
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
    STATIC_REFUSED,
    LOGGED_EPOCH_BACK,
    LOGGED_EPOCH_AHEAD,
    LOGGED_TWO_OWNERS,
    REMOVED_WITHOUT_EPOCH,
    FENCED_COMMIT,
)
"""All anomalies, by id."""
NEEDS = Needs(
    (Source.CLIENTS, Source.COMMITS),
    {
        "undelivered": (Source.CLIENTS,),
        "committed-offset-lost": (Source.CLIENTS,),
        "premature-commit": (Source.CLIENTS,),
        "rebalance-stuck": (Source.CLIENTS,),
        "fenced-commit": (Source.CLIENTS,),
    },
    PERMITTED,
    frozenset({"groups"}),
)
"""The journals that the checker's rules need."""
