"""The anomalies of share groups."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

UNDELIVERED = AnomalyKind(
    "share-undelivered",
    "A share group went past a record that none of its members received.",
    "A record is delivered at least once before the start offset of its share partition moves past it.",
    "KIP-932, Concepts: at-least-once delivery, states of in-flight records",
)
ACKNOWLEDGED_TWICE = AnomalyKind(
    "acknowledged-twice",
    "A record was acknowledged successfully after it had been accepted or rejected.",
    "An acknowledgement succeeds only if the record is acquired by the member that acknowledges it.",
    "KIP-932, Record delivery and acknowledgement: INVALID_RECORD_STATE",
)
DELIVERED_AGAIN = AnomalyKind(
    "delivered-after-acknowledgement",
    "A record was delivered although it had been accepted or rejected before the delivery could begin.",
    "A record that is accepted or rejected is not delivered again.",
    "KIP-932, states of in-flight records: Acknowledged and Archived are final; AcknowledgeType (Javadoc)",
)
TOO_MANY = AnomalyKind(
    "too-many-deliveries",
    "A record was delivered with a delivery count above the limit.",
    "A record whose delivery count has reached the limit is archived.",
    "KIP-932; Kafka documentation, group.share.delivery.count.limit",
)
COUNT_LOST = AnomalyKind(
    "delivery-count-lost",
    "A released record was delivered again, and its delivery count had not grown.",
    "Releasing a record stores its delivery count; each acquisition adds one to it.",
    "KIP-932, Managing durable share-partition state: WriteShareGroupState",
)
HELD_TWICE = AnomalyKind(
    "acquired-twice",
    "A record was delivered to another member while the member that acknowledged or renewed it later still "
    "held it.",
    "While a record is acquired, it is not available for another member.",
    "KIP-932, states of in-flight records: Acquired; KIP-1222, RENEW; KafkaShareConsumer (Javadoc)",
)
LOCK_LOST = AnomalyKind(
    "share-lock-lost",
    "A broker refused an acknowledgement, because the member did not hold the record, before its lock ended.",
    "A member holds a record that it acquired until it acknowledges it, or its lock or share session ends. A "
    "renewal begins the lock anew.",
    "KIP-932, Record delivery and acknowledgement: acquisition lock, INVALID_RECORD_STATE; KIP-1222, RENEW",
)
START_WENT_BACK = AnomalyKind(
    "share-start-went-back",
    "A record was delivered that was below the start offset reported before the delivery could begin.",
    "The start offset of a share partition moves forward until an administrator sets it.",
    "KIP-932, share-partition start offset (SPSO), AlterShareGroupOffsets",
)
START_NOT_SET = AnomalyKind(
    "share-start-not-set",
    "A record was delivered that is below a start offset that an administrator had set before.",
    "Once a change of a start offset is accepted, the share group begins at that offset.",
    "KIP-932, AlterShareGroupOffsets, DeleteShareGroupOffsets, InitializeShareGroupState",
)
PHANTOM = AnomalyKind(
    "share-phantom",
    "A share poll returned a value that was not sent to that partition, or whose send failed.",
    "A share group delivers only records that producers wrote to that partition.",
    "KIP-932, Concepts: share-partition; Kafka documentation, Design, Message delivery semantics",
)
WRONG_RECORD = AnomalyKind(
    "share-wrong-record",
    "A share poll returned another value at an offset than an acknowledgement or another reader has there.",
    "An offset identifies the same record of a partition for share groups as for every other reader.",
    "KIP-932, Concepts: share-partition; Kafka documentation, Introduction, Topics and partitions",
)
NOT_IN_LOG = AnomalyKind(
    "share-not-in-log",
    "A share poll returned a record at an offset where final reads, which cover it, found none.",
    "A share group delivers only committed records, and these stay in the log.",
    "KIP-932, Concepts: share-partition end offset; Kafka documentation, Design, Replication",
)
UNCOMMITTED_READ = AnomalyKind(
    "share-uncommitted-read",
    "A share group with read_committed delivered a record of a transaction that was aborted, or still open.",
    "With share.isolation.level=read_committed a share group delivers only committed records.",
    "KIP-932, group configuration share.isolation.level; KafkaShareConsumer (Javadoc)",
)
STUCK = AnomalyKind(
    "share-stuck",
    "After the recovery a share group did not deliver an available record, although a member polled on.",
    "Available records of a share partition are delivered to the members of the group that poll.",
    "KIP-932, Concepts: at-least-once delivery; Available state of in-flight records",
)
ANSWERED_EARLY = AnomalyKind(
    "share-answered-early",
    "An acceptance or a rejection was confirmed before the share coordinator had the final state of the "
    "record in its log.",
    "An acknowledgement succeeds once the state of the records is written, so that the next leader knows it.",
    "KIP-932, Managing durable share-partition state; Kafka's SharePartition.rollbackOrProcessStateUpdates",
)
STATE_UNASKED = AnomalyKind(
    "share-state-unasked",
    "In the log of the share coordinator a record is Acknowledged, although no member asked to accept it.",
    "Each record is accepted, released or rejected as its member asked.",
    "KIP-932, ShareAcknowledge; Kafka's SharePartition.acknowledgePerOffsetBatchRecords",
)
STATE_MISCOUNTED = AnomalyKind(
    "share-state-miscounted",
    "In the log of the share coordinator a record is Acknowledged with a delivery count with which no member "
    "received it.",
    "Each acquisition adds one to the delivery count of a record. Renewals and acknowledgements keep it.",
    "KIP-932, states of in-flight records: delivery count; KIP-1222, RENEW; Kafka's DeliveryCountOps",
)
STATE_UNDONE = AnomalyKind(
    "share-state-undone",
    "In the log of the share coordinator a record becomes Available after it had been confirmed that it was "
    "accepted or rejected.",
    "Acknowledged and Archived are final, and a deposed leader can't change the states of records.",
    "KIP-932, states of in-flight records; WriteShareGroupState, FENCED_LEADER_EPOCH",
)
STATE_EPOCH_BACK = AnomalyKind(
    "share-state-epoch-back",
    "In the log of the share coordinator, an epoch of a share partition is lower than before, or a snapshot "
    "is missing.",
    "A share coordinator knows all records of its log, and refuses requests with older epochs.",
    "KIP-932, Share group state persistence; Kafka's ShareCoordinatorShard.generateShareStateRecord",
)
SNAPSHOT_INCOMPLETE = AnomalyKind(
    "share-snapshot-incomplete",
    "A snapshot in the log of a share coordinator lacks the state of a record that was accepted or archived.",
    "A snapshot has the states of all records from the start offset on, so that the next leader knows them.",
    "KIP-932, ShareSnapshotValue; Kafka's ShareCoordinatorShard.generateShareStateRecord",
)
STORED_START_BACK = AnomalyKind(
    "share-state-start-back",
    "In the log of the share coordinator the start offset of a share partition is lower than before.",
    "The start offset of a share partition moves forward until an administrator sets it, and the coordinator "
    "has the states of all records from there on.",
    "KIP-932, share-partition start offset (SPSO); Kafka's ShareCoordinatorShard.generateShareStateRecord",
)
INITIALISED_AGAIN = AnomalyKind(
    "share-state-initialised-again",
    "A share coordinator initialised a state again that was in use, without a request of an administrator; "
    "the acknowledgements in it are lost.",
    "A state is initialised once, when the group begins to read the partition; acknowledgements are durable.",
    "KIP-932, Managing durable share-partition state: InitializeShareGroupState; Kafka's pull request 23190",
)

ANOMALIES = by_id(
    UNDELIVERED,
    ACKNOWLEDGED_TWICE,
    DELIVERED_AGAIN,
    TOO_MANY,
    COUNT_LOST,
    HELD_TWICE,
    LOCK_LOST,
    START_WENT_BACK,
    START_NOT_SET,
    PHANTOM,
    WRONG_RECORD,
    NOT_IN_LOG,
    UNCOMMITTED_READ,
    STUCK,
    ANSWERED_EARLY,
    STATE_UNASKED,
    STATE_MISCOUNTED,
    STATE_UNDONE,
    STATE_EPOCH_BACK,
    SNAPSHOT_INCOMPLETE,
    STORED_START_BACK,
    INITIALISED_AGAIN,
)
"""All anomalies, by id."""
_CALM = (*PERMITTED, Source.PARTITIONS)
"""Sources that show that no fault and no change of the leader was near."""
_SAME_LIFE = (Source.START_CHANGES, *_CALM)
"""Sources that also show that no start offset was set in between."""
_STATES = (Source.CLIENTS, *PERMITTED)
"""Sources that show who asked for the states of records, and that no legal event lost them."""
NEEDS = Needs(
    (Source.CLIENTS, Source.DISKS),
    {
        UNDELIVERED.id: (Source.CLIENTS, *PERMITTED),
        ACKNOWLEDGED_TWICE.id: (Source.START_CHANGES, *PERMITTED),
        DELIVERED_AGAIN.id: _SAME_LIFE,
        COUNT_LOST.id: _SAME_LIFE,
        HELD_TWICE.id: _SAME_LIFE,
        LOCK_LOST.id: _SAME_LIFE,
        START_WENT_BACK.id: _SAME_LIFE,
        START_NOT_SET.id: _SAME_LIFE,
        WRONG_RECORD.id: PERMITTED,
        NOT_IN_LOG.id: PERMITTED,
        UNCOMMITTED_READ.id: (Source.CLIENTS, *PERMITTED),
        STUCK.id: (Source.CLIENTS, *PERMITTED),
        ANSWERED_EARLY.id: _STATES,
        STATE_UNASKED.id: (Source.CLIENTS,),
        STATE_MISCOUNTED.id: (Source.CLIENTS,),
        STATE_UNDONE.id: _STATES,
        STATE_EPOCH_BACK.id: PERMITTED,
        SNAPSHOT_INCOMPLETE.id: PERMITTED,
        STORED_START_BACK.id: PERMITTED,
        INITIALISED_AGAIN.id: (Source.START_CHANGES, *PERMITTED),
    },
    workloads=frozenset({"shares"}),
    not_deleted=frozenset({NOT_IN_LOG.id}),
)
"""The journals that the checker's rules need.

A delivery count above the limit needs only its own journal.  So does a value that was never written, because
values that a missing journal may have are left out.
"""
