"""The anomalies of replicas, each with the guarantee that it breaks."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

REPLICA_DIVERGENCE = AnomalyKind(
    id="replica-divergence",
    meaning="After healing, two in-sync replicas hold different batches below the committed end.",
    guarantee="All in-sync replicas have the same committed records at the same offsets.",
    source="Kafka documentation, Design, Replication; KIP-101, KIP-279",
)
SHORT_REPLICA = AnomalyKind(
    id="short-replica",
    meaning="After healing, the log of an in-sync replica ends below the committed end of its "
    "partition, or begins above the partition's start without a request to delete records.",
    guarantee="A record is committed only after all in-sync replicas have it in their logs.",
    source="Kafka documentation, Design, Replication; KIP-107",
)
LEADER_EPOCH_REGRESSION = AnomalyKind(
    id="leader-epoch-regression",
    meaning="In one log the leader epoch of a batch is lower than that of an earlier batch.",
    guarantee="Leader epochs never decrease in a log.",
    source="KIP-101, KIP-279",
)
OVERLAPPING_BATCHES = AnomalyKind(
    id="overlapping-batches",
    meaning="A batch of a log begins at or below the last offset of the previous batch.",
    guarantee="Every record of a log has its own offset, and offsets increase in append order.",
    source="Kafka documentation, Implementation, Log",
)
DUPLICATE_BATCH = AnomalyKind(
    id="duplicate-batch",
    meaning="A log has the same sequence numbers of one producer id and epoch twice.",
    guarantee="A broker appends a batch of an idempotent producer once, also if it is sent several times.",
    source="KIP-98",
)
CORRUPT_BATCH = AnomalyKind(
    id="corrupt-batch",
    meaning="The CRC-32C of a batch on disk does not match, or no batch is found where one is expected.",
    guarantee="A broker keeps batches as they were appended, and removes damaged ones from the log.",
    source="Kafka documentation, Implementation, Message Format (crc) and Log (recovery)",
)
OFFSET_GAP = AnomalyKind(
    id="offset-gap",
    meaning="A log that is not compacted has a gap of offsets between two batches.",
    guarantee="Each record gets the next offset. Only compaction leaves gaps.",
    source="Kafka documentation, Implementation, Log and Design, Log Compaction",
)
SEQUENCE_GAP = AnomalyKind(
    id="sequence-gap",
    meaning="In a log, sequence numbers of an idempotent producer are missing before a batch.",
    guarantee="A broker appends only the next batch of a producer, or the first batch of a newer "
    "producer epoch.",
    source="KIP-98, KIP-360",
)
PRODUCER_EPOCH_REGRESSION = AnomalyKind(
    id="producer-epoch-regression",
    meaning="A log has a batch or marker of a producer epoch after a batch or marker of a newer one.",
    guarantee="A broker appends no batch and no marker of a producer epoch once it knows a newer one.",
    source="KIP-98, KIP-360, KIP-890; Kafka's ProducerAppendInfo.checkProducerEpoch",
)
COORDINATOR_EPOCH_REGRESSION = AnomalyKind(
    id="coordinator-epoch-regression",
    meaning="A log has a marker of an older coordinator epoch after one of a newer epoch for the same "
    "producer.",
    guarantee="A broker appends no marker of a coordinator that another one has replaced, once it has a "
    "marker of the newer one.",
    source="KIP-98, WriteTxnMarkerRequest (CoordinatorEpoch); Kafka's "
    "ProducerAppendInfo.checkCoordinatorEpoch",
)
EPOCH_NOTE_CONTRADICTED = AnomalyKind(
    id="epoch-note-contradicted",
    meaning="The leader epoch checkpoint of an in-sync replica contradicts its own batches.",
    guarantee="A replica stores the start offset of each leader epoch, which is the offset of the "
    "first record appended in it.",
    source="KIP-101",
)
EPOCH_START_DIVERGENCE = AnomalyKind(
    id="epoch-start-divergence",
    meaning="Two in-sync replicas stored different start offsets of the same leader epoch.",
    guarantee="All replicas store the same start offsets of leader epochs, by which they truncate "
    "their logs.",
    source="KIP-101, KIP-279",
)
EPOCH_WITHOUT_ELECTION = AnomalyKind(
    id="epoch-without-election",
    meaning="A replica has batches or a start offset of a leader epoch for which there was no election.",
    guarantee="A leader appends with the leader epoch that the controller gave it at its election.",
    source="KIP-101, KIP-631 (PartitionChangeRecord)",
)
MARKER_AGAINST_ANSWER = AnomalyKind(
    id="marker-against-answer",
    meaning="The marker on disk that ends a transaction contradicts the answer that its client got.",
    guarantee="A transaction whose commit was acknowledged has commit markers. An aborted one has none.",
    source="KIP-98, KIP-890",
)
MARKERS_DIFFER = AnomalyKind(
    id="markers-differ",
    meaning="A transaction has a commit marker in one partition and an abort marker in another.",
    guarantee="All partitions of a transaction get the same marker.",
    source="KIP-98",
)
MARKER_SHARED = AnomalyKind(
    id="marker-shared",
    meaning="The log has no marker between the records of a transaction and those of the producer's next "
    "one, so that one marker ends both: the commit of the first was acknowledged, or their epochs differ.",
    guarantee="A producer's next transaction gets no partition before all partitions of the last one have "
    "their markers.",
    source="KIP-98, Transaction Coordinator (CompleteCommit) and CONCURRENT_TRANSACTIONS; KIP-890",
)
MARKER_OF_ANOTHER_TRANSACTION = AnomalyKind(
    id="marker-of-another-transaction",
    meaning="By its epoch, the marker that ends records in a log is that of another transaction: a commit "
    "beyond the next epoch, a marker of the transaction before, or not the commit that the same epoch of a "
    "client of transactions of version 2 has elsewhere.",
    guarantee="A commit marker has the epoch of its transaction, or with version 2 the next one, which no "
    "other transaction's marker has.",
    source="KIP-890, part 2 (an epoch for each transaction); Kafka's "
    "TransactionMetadata.prepareAbortOrCommit; KAFKA-19446, fixed in 4.2.0",
)
MARKER_WITHOUT_DECISION = AnomalyKind(
    id="marker-without-decision",
    meaning="A log has a marker of a producer id and epoch, and no coordinator's log has such a decision.",
    guarantee="A marker is written only after its coordinator's decision is in the coordinator's log.",
    source="KIP-98, Transaction Coordinator; Kafka's TransactionCoordinator.endTransaction",
)
COMPLETED_WITHOUT_MARKER = AnomalyKind(
    id="completed-without-marker",
    meaning="By its coordinator's log a transaction was completed, and a partition of it lacks its marker.",
    guarantee="A transaction is completed only after all its partitions have its marker.",
    source="KIP-98, Transaction Coordinator; Kafka's TransactionMarkerChannelManager.maybeWriteTxnCompletion",
)
TRANSACTION_EPOCH_SHARED = AnomalyKind(
    id="transaction-epoch-shared",
    meaning="Records of two transactions of a client of transactions of version 2 have the same producer id "
    "and epoch.",
    guarantee="With version 2 every end of a transaction raises the producer's epoch, also if its "
    "coordinator moves, so that each transaction has an epoch of its own.",
    source="KIP-890, part 2 (an epoch for each transaction); Kafka's "
    "TransactionMetadata.prepareAbortOrCommit and prepareComplete",
)
READ_NOT_ON_DISK = AnomalyKind(
    id="read-not-on-disk",
    meaning="A final read returned an offset at which the log on disk has no record, or none "
    "visible at its isolation level.",
    guarantee="Consumers get only records of the log, and at read_committed none of an open or "
    "aborted transaction.",
    source="Kafka documentation, Design, Replication; KIP-98",
)
ON_DISK_NOT_READ = AnomalyKind(
    id="on-disk-not-read",
    meaning="A final read to the end did not return a record that is in the log on disk.",
    guarantee="Consumers get all records of a log, at read_committed all except those of aborted "
    "transactions.",
    source="Kafka documentation, Design, Message Delivery Semantics; KIP-98",
)
TRANSACTION_WITHOUT_MARKER = AnomalyKind(
    id="transaction-without-marker",
    meaning="A final read at read_committed went past a transaction that has no marker on disk.",
    guarantee="Readers at read_committed stop before the first open transaction.",
    source="KIP-98 (last stable offset)",
)
COMPACTED_AWAY = AnomalyKind(
    id="compacted-away",
    meaning="An in-sync replica of a compacted topic lacks the last committed record of a key.",
    guarantee="Compaction keeps at least the last record of every key, and lets records of aborted "
    "transactions replace none.",
    source="Kafka documentation, Design, Log Compaction; KIP-58, KIP-98",
)
COMPACTED_EARLY = AnomalyKind(
    id="compacted-early",
    meaning="A record is gone although all later records of its key are where nothing was cleaned yet.",
    guarantee="Records replace earlier ones only once they are cleaned themselves, and the active segment "
    "never is.",
    source="Kafka documentation, Design, Log Compaction, Configuring the Log Cleaner; KIP-58; "
    "org.apache.kafka.storage.internals.log.Cleaner.buildOffsetMap",
)
COMPACTED_RETURNED = AnomalyKind(
    id="compacted-returned",
    meaning="A final read of a compacted topic returned a record that the same leader had already removed.",
    guarantee="Compaction removes records and restores none.",
    source="Kafka documentation, Design, Log Compaction",
)
DELETED_KEY_RETURNED = AnomalyKind(
    id="deleted-key-returned",
    meaning="A final read of a compacted topic returned a record of a deleted key without its "
    "later tombstone.",
    guarantee="A consumer that reads to the end within delete.retention.ms gets the tombstones of "
    "all deleted records.",
    source="Kafka documentation, Design, Log Compaction; KIP-534",
)
DELETED_RECORDS_RETURNED = AnomalyKind(
    id="deleted-records-returned",
    meaning="A log begins below an offset up to which records had been deleted, or a deleted "
    "record was read.",
    guarantee="DeleteRecords is acknowledged once all live replicas have moved their log start offsets.",
    source="KIP-107",
)
DELETION_NOT_KEPT = AnomalyKind(
    id="deletion-not-kept",
    meaning="At the end a log begins on disk below an offset up to which records had been deleted, although "
    "its broker has stopped cleanly since, or has run for over a minute.",
    guarantee="A broker writes the start offsets of its logs to disk every "
    "log.flush.start.offset.checkpoint.interval.ms and at a clean stop, so that deleted records stay "
    "deleted after a restart.",
    source="KIP-107; Kafka documentation, Broker Configs; Kafka's LogManager.checkpointLogStartOffsets and "
    "LogManager.shutdown",
)
PRODUCER_FORGOTTEN = AnomalyKind(
    id="producer-forgotten",
    meaning="At the end the log of an in-sync replica has a batch of a producer, and the broker does not "
    "know that producer, or knows an older epoch or an earlier sequence number.",
    guarantee="A broker knows the epoch and the last sequence number of each producer whose batches are "
    "in its log, also after a restart, until producer.id.expiration.ms is over.",
    source="KIP-98, Producer ID and sequence numbers; KIP-664, DescribeProducers; Kafka's "
    "ProducerStateManager and UnifiedLog.rebuildProducerState",
)
PRODUCER_AHEAD = AnomalyKind(
    id="producer-ahead",
    meaning="At the end the broker of an in-sync replica knows a later sequence number of a producer than "
    "the last one of that epoch in its log, both before the log is read and after that.",
    guarantee="A broker that truncates a log forgets the sequence numbers of the records that are gone, so "
    "that it does not treat a retry of them as a duplicate.",
    source="KIP-98, Producer ID and sequence numbers; KIP-664, DescribeProducers; Kafka's "
    "ProducerStateManager.truncateAndReload",
)
ABORT_NOT_INDEXED = AnomalyKind(
    id="abort-not-indexed",
    meaning="The log of an in-sync replica has an aborted transaction, and its index of aborted transactions "
    "lacks it, or has it from a later record on.",
    guarantee="A broker adds each aborted transaction to the index of the segment that has its abort marker, "
    "from its first record on. By this index consumers at read_committed leave out its records.",
    source="KIP-98, Transaction Index; Kafka's UnifiedLog.append, LogSegment.updateTxnIndex and "
    "LogSegment.recover",
)
INDEXED_IN_ERROR = AnomalyKind(
    id="indexed-in-error",
    meaning="The index of aborted transactions of an in-sync replica has one that its log does not have, or "
    "from an earlier record on.",
    guarantee="An index has only transactions that an abort marker of its log ends, from their first records "
    "on, so that consumers at read_committed get all committed records.",
    source="KIP-98, Transaction Index; Kafka's ProducerAppendInfo.appendEndTxnMarker and "
    "TransactionIndex.truncateTo",
)
FLUSHED_LOST = AnomalyKind(
    id="flushed-lost",
    meaning="After a loss of power a log ends below the recovery point that its broker had written to the "
    "same disk.",
    guarantee="A broker advances and writes a log's recovery point after it has flushed all records below "
    "it, so that a loss of power leaves them, and recovery reads only the rest.",
    source="Kafka documentation, Implementation, Log; Kafka's UnifiedLog.flush and "
    "LogManager.checkpointLogRecoveryOffsets",
)
STRAY_REPLICA = AnomalyKind(
    id="stray-replica",
    meaning="At the end a broker kept a partition's log although its topic had long been removed, or the "
    "partition had long been only on other brokers.",
    guarantee="A broker renames the log of a partition as stray once it no longer has a replica of it, "
    "also if it finds such a log at its start.",
    source="KIP-455; KIP-516; Kafka's TopicsDelta.localChanges, ReplicaManager.applyDelta and "
    "LogManager.isStrayKraftReplica",
)
MISSING_REPLICA = AnomalyKind(
    id="missing-replica",
    meaning="At the end a broker had no log of a partition of which it had long been a replica.",
    guarantee="A broker creates the log of each partition of which it becomes a replica, also at its start "
    "for partitions that were created while it was down.",
    source="KIP-631, Broker metadata; Kafka's TopicsDelta.localChanges and ReplicaManager.applyDelta; "
    "KAFKA-14616, fixed in 3.7.0",
)
METADATA_DIVERGENCE = AnomalyKind(
    id="metadata-divergence",
    meaning="Two nodes' metadata logs hold different batches below the committed offset.",
    guarantee="All nodes have the same committed metadata records at the same offsets.",
    source="KIP-595; Ongaro and Ousterhout, In Search of an Understandable Consensus Algorithm, Log Matching",
)

ANOMALIES = by_id(
    REPLICA_DIVERGENCE,
    SHORT_REPLICA,
    LEADER_EPOCH_REGRESSION,
    OVERLAPPING_BATCHES,
    DUPLICATE_BATCH,
    CORRUPT_BATCH,
    OFFSET_GAP,
    SEQUENCE_GAP,
    PRODUCER_EPOCH_REGRESSION,
    COORDINATOR_EPOCH_REGRESSION,
    EPOCH_NOTE_CONTRADICTED,
    EPOCH_START_DIVERGENCE,
    EPOCH_WITHOUT_ELECTION,
    MARKER_AGAINST_ANSWER,
    MARKERS_DIFFER,
    MARKER_SHARED,
    MARKER_OF_ANOTHER_TRANSACTION,
    MARKER_WITHOUT_DECISION,
    COMPLETED_WITHOUT_MARKER,
    TRANSACTION_EPOCH_SHARED,
    READ_NOT_ON_DISK,
    ON_DISK_NOT_READ,
    TRANSACTION_WITHOUT_MARKER,
    COMPACTED_AWAY,
    COMPACTED_EARLY,
    COMPACTED_RETURNED,
    DELETED_KEY_RETURNED,
    DELETED_RECORDS_RETURNED,
    DELETION_NOT_KEPT,
    PRODUCER_FORGOTTEN,
    PRODUCER_AHEAD,
    ABORT_NOT_INDEXED,
    INDEXED_IN_ERROR,
    FLUSHED_LOST,
    STRAY_REPLICA,
    MISSING_REPLICA,
    METADATA_DIVERGENCE,
)
NEEDS = Needs(
    (Source.DISKS, Source.RUNNER, Source.PARTITIONS, Source.BROKER_LOGS, Source.BROKER_LOADS),
    {
        "replica-divergence": (Source.PARTITIONS, Source.RUNNER),
        "short-replica": (Source.PARTITIONS, Source.RUNNER),
        "read-not-on-disk": PERMITTED,
        "on-disk-not-read": (*PERMITTED, Source.CLIENTS),
        "compacted-away": (*PERMITTED, Source.CLIENTS),
        "compacted-early": (*PERMITTED, Source.CLIENTS),
        "compacted-returned": PERMITTED,
        "deleted-key-returned": (*PERMITTED, Source.CLIENTS, Source.DISKS),
        "transaction-without-marker": (*PERMITTED, Source.CLIENTS),
        "marker-against-answer": PERMITTED,
        "markers-differ": PERMITTED,
        "marker-shared": PERMITTED,
        "marker-of-another-transaction": (*PERMITTED, Source.CLIENTS),
        "marker-without-decision": (*PERMITTED, Source.CLIENTS),
        "completed-without-marker": (*PERMITTED, Source.CLIENTS),
        "transaction-epoch-shared": PERMITTED,
        "producer-forgotten": (Source.PARTITIONS, Source.RUNNER),
        "producer-ahead": (Source.PARTITIONS, Source.RUNNER),
        "abort-not-indexed": (*PERMITTED, Source.PARTITIONS, Source.RUNNER),
        "indexed-in-error": (*PERMITTED, Source.PARTITIONS, Source.RUNNER),
        "deleted-records-returned": (*PERMITTED, Source.NODES),
        "deletion-not-kept": (*PERMITTED, Source.NODES),
        "stray-replica": (Source.FAULTS, Source.NODES),
        "missing-replica": (Source.FAULTS, Source.NODES, Source.RUNNER),
        "offset-gap": (Source.ADMIN, Source.FAULTS),
        "sequence-gap": (Source.FAULTS,),
        "producer-epoch-regression": (Source.FAULTS,),
        "coordinator-epoch-regression": (Source.FAULTS,),
        "epoch-note-contradicted": (Source.FAULTS, Source.PARTITIONS),
        "epoch-start-divergence": (Source.FAULTS, Source.PARTITIONS),
        "epoch-without-election": (Source.FAULTS, Source.DISKS),
    },
    not_deleted=frozenset(
        {"short-replica", "replica-divergence", "offset-gap", "abort-not-indexed", "indexed-in-error"}
    ),
)
"""The journals that the checker's rules need."""
