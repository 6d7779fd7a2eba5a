"""What can be wrong with replicas, each kind with the promise that it breaks."""

from checkers.verdict.kinds import AnomalyKind, by_id

REPLICA_DIVERGENCE = AnomalyKind(
    id="replica-divergence",
    meaning="After healing, two in-sync replicas hold different batches below the committed end.",
    guarantee="All in-sync replicas have the same committed records at the same offsets.",
    source="Kafka documentation, Design, Replication; KIP-101, KIP-279",
)
SHORT_REPLICA = AnomalyKind(
    id="short-replica",
    meaning="After healing, the log of an in-sync replica ends below the committed end of its partition, or "
    "begins above its start although nobody asked to delete what stood there.",
    guarantee="A record is committed once all in-sync replicas have it in their logs.",
    source="Kafka documentation, Design, Replication; KIP-107",
)
LEADER_EPOCH_REGRESSION = AnomalyKind(
    id="leader-epoch-regression",
    meaning="Along one log the leader epoch of a batch is lower than that of a batch before it.",
    guarantee="Leader epochs never decrease along a log.",
    source="KIP-101, KIP-279",
)
OVERLAPPING_BATCHES = AnomalyKind(
    id="overlapping-batches",
    meaning="A batch of a log begins at or below the last offset of the batch before it.",
    guarantee="A log gives every record an offset of its own, in the order of appending.",
    source="Kafka documentation, Implementation, Log",
)
DUPLICATE_BATCH = AnomalyKind(
    id="duplicate-batch",
    meaning="One log holds the same sequence numbers of one producer id and epoch twice.",
    guarantee="A broker appends a batch of an idempotent producer once, however often it is sent.",
    source="KIP-98",
)
CORRUPT_BATCH = AnomalyKind(
    id="corrupt-batch",
    meaning="A batch on disk is not what its CRC-32C stands for, or no batch is where one should be.",
    guarantee="A broker keeps batches as they were appended, and drops from the log what is damaged.",
    source="Kafka documentation, Implementation, Message Format (crc) and Log (recovery)",
)
OFFSET_GAP = AnomalyKind(
    id="offset-gap",
    meaning="Between two batches of a log that is not compacted there are offsets that no batch has.",
    guarantee="A log gives every record the offset after the last one; only compaction leaves gaps.",
    source="Kafka documentation, Implementation, Log and Design, Log Compaction",
)
SEQUENCE_GAP = AnomalyKind(
    id="sequence-gap",
    meaning="Before a batch in a log, sequence numbers of its idempotent producer are missing.",
    guarantee="A broker appends nothing but its producer's next batch, or the first one of a newer epoch.",
    source="KIP-98, KIP-360",
)
PRODUCER_EPOCH_REGRESSION = AnomalyKind(
    id="producer-epoch-regression",
    meaning="A log holds a batch of a producer's epoch behind a batch, or a marker, of a later one.",
    guarantee="A broker appends nothing of a producer's epoch once it knows a later one.",
    source="KIP-98, KIP-360",
)
EPOCH_NOTE_CONTRADICTED = AnomalyKind(
    id="epoch-note-contradicted",
    meaning="An in-sync replica noted beginnings of leader epochs that its own batches contradict.",
    guarantee="A replica notes for each leader epoch the offset of the first record appended in it.",
    source="KIP-101",
)
EPOCH_START_DIVERGENCE = AnomalyKind(
    id="epoch-start-divergence",
    meaning="Two in-sync replicas noted different first offsets of the same leader epoch.",
    guarantee="All replicas know the same history of leader epochs, by which they truncate their logs.",
    source="KIP-101, KIP-279",
)
EPOCH_WITHOUT_ELECTION = AnomalyKind(
    id="epoch-without-election",
    meaning="A replica has batches or a note of a leader epoch that began with no election.",
    guarantee="A leader appends in the leader epoch that the controller gave it when it was elected.",
    source="KIP-101, KIP-631 (PartitionChangeRecord)",
)
MARKER_AGAINST_ANSWER = AnomalyKind(
    id="marker-against-answer",
    meaning="A transaction's record is ended on disk by a marker that its client's answer rules out.",
    guarantee="A transaction gets commit markers once its commit was acknowledged, none if it was aborted.",
    source="KIP-98, KIP-890",
)
MARKERS_DIFFER = AnomalyKind(
    id="markers-differ",
    meaning="A transaction has a commit marker in one partition and an abort marker in another.",
    guarantee="All partitions of a transaction get the same marker.",
    source="KIP-98",
)
READ_NOT_ON_DISK = AnomalyKind(
    id="read-not-on-disk",
    meaning="A final read returned an offset at which the log on disk has no record that it may return.",
    guarantee="Consumers get records of the log; at read_committed none of an open or aborted transaction.",
    source="Kafka documentation, Design, Replication; KIP-98",
)
ON_DISK_NOT_READ = AnomalyKind(
    id="on-disk-not-read",
    meaning="A final read to the end did not return a record that stands in the log on disk.",
    guarantee="Consumers get all records of a log, at read_committed all but those that were aborted.",
    source="Kafka documentation, Design, Message Delivery Semantics; KIP-98",
)
TRANSACTION_WITHOUT_MARKER = AnomalyKind(
    id="transaction-without-marker",
    meaning="A final read at read_committed came past a transaction that no marker on disk ends.",
    guarantee="Readers of committed records come no farther than to the first transaction that is open.",
    source="KIP-98 (last stable offset)",
)
COMPACTED_AWAY = AnomalyKind(
    id="compacted-away",
    meaning="A replica in sync of a compacted topic lacks the last record of a key.",
    guarantee="Compaction keeps at least the last record of every key.",
    source="Kafka documentation, Design, Log Compaction; KIP-58",
)
COMPACTED_EARLY = AnomalyKind(
    id="compacted-early",
    meaning="A record is gone although all later ones of its key stand in the segment that is written to.",
    guarantee="The active segment is never compacted, so nothing in it replaces anything.",
    source="Kafka documentation, Design, Log Compaction, Configuring the Log Cleaner; KIP-58",
)
COMPACTED_RETURNED = AnomalyKind(
    id="compacted-returned",
    meaning="A final read of a compacted topic was given a record that was gone from the same leader before.",
    guarantee="Compaction removes records, and brings none back.",
    source="Kafka documentation, Design, Log Compaction",
)
DELETED_KEY_RETURNED = AnomalyKind(
    id="deleted-key-returned",
    meaning="A final read of a compacted topic was given a record of a key without the tombstone behind it.",
    guarantee="Who reads to the end within delete.retention.ms sees the tombstones of all that was deleted.",
    source="Kafka documentation, Design, Log Compaction; KIP-534",
)
DELETED_RECORDS_RETURNED = AnomalyKind(
    id="deleted-records-returned",
    meaning="A log begins below an offset up to which records had been deleted, or such a record was read.",
    guarantee="DeleteRecords is answered once all live replicas have moved the starts of their logs.",
    source="KIP-107",
)
STRAY_REPLICA = AnomalyKind(
    id="stray-replica",
    meaning="At the end a broker kept a partition's log although its topic had long been removed, or the "
    "partition had long been on other brokers alone.",
    guarantee="A broker that learns that it has no replica of a partition any more sets the log aside, and "
    "so does one that finds such logs as it starts.",
    source="KIP-455; KIP-516; Kafka's TopicsDelta.localChanges, ReplicaManager.applyDelta and "
    "LogManager.isStrayKraftReplica",
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
    EPOCH_NOTE_CONTRADICTED,
    EPOCH_START_DIVERGENCE,
    EPOCH_WITHOUT_ELECTION,
    MARKER_AGAINST_ANSWER,
    MARKERS_DIFFER,
    READ_NOT_ON_DISK,
    ON_DISK_NOT_READ,
    TRANSACTION_WITHOUT_MARKER,
    COMPACTED_AWAY,
    COMPACTED_EARLY,
    COMPACTED_RETURNED,
    DELETED_KEY_RETURNED,
    DELETED_RECORDS_RETURNED,
    STRAY_REPLICA,
    METADATA_DIVERGENCE,
)
