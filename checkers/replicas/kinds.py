"""What can be wrong with replicas, each kind with the promise that it breaks."""

from checkers.kinds import AnomalyKind, by_id

REPLICA_DIVERGENCE = AnomalyKind(
    id="replica-divergence",
    meaning="After healing, two in-sync replicas hold different batches below the committed end.",
    guarantee="All in-sync replicas have the same committed records at the same offsets.",
    source="Kafka documentation, Design, Replication; KIP-101, KIP-279",
)
SHORT_REPLICA = AnomalyKind(
    id="short-replica",
    meaning="After healing, the log of an in-sync replica ends below the committed end of its partition.",
    guarantee="A record is committed once all in-sync replicas have it in their logs.",
    source="Kafka documentation, Design, Replication",
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
    METADATA_DIVERGENCE,
)
