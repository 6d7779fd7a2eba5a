"""What the checker of partitions can find."""

from checkers.verdict.kinds import AnomalyKind, by_id

LEADER_OUTSIDE_ISR = AnomalyKind(
    id="leader-outside-isr",
    meaning="A record of the metadata log left a partition with a leader that is not in its ISR.",
    guarantee="Whoever leads is in the ISR once the change is made, after an unclean election too.",
    source="Kafka's PartitionChangeBuilder.tryElection; KIP-704; KIP-966",
)
ISR_OUTSIDE_REPLICAS = AnomalyKind(
    id="isr-outside-replicas",
    meaning="A record of the metadata log left a partition with an ISR of which a member is no replica.",
    guarantee="The ISR is a subset of the replicas.",
    source="Kafka's ReplicationControlManager.validateAlterPartitionData and PartitionReassignmentReplicas; "
    "KIP-455",
)
ISR_AND_ELR = AnomalyKind(
    id="isr-and-elr",
    meaning="A record of the metadata log left a broker both in the ISR and in the ELR of a partition.",
    guarantee="The ISR and the ELR are disjoint.",
    source="KIP-966; Kafka's PartitionChangeBuilder.maybePopulateTargetElr",
)
ELR_BESIDE_ISR = AnomalyKind(
    id="elr-beside-isr",
    meaning="A change left a partition with an ELR although its ISR has min.insync.replicas members.",
    guarantee="The ELR is empty while the ISR has at least min.insync.replicas members.",
    source="KIP-966; Kafka's PartitionChangeBuilder.maybePopulateTargetElr",
)
RESTATED = AnomalyKind(
    id="restated-change",
    meaning="A change of a partition restates what the metadata log held already.",
    guarantee="A controller writes only what changes its state, which is what its log says.  A leader is "
    "restated where replicas are removed, and by old metadata versions where the ISR shrinks.",
    source="Kafka's PartitionChangeBuilder.build; KAFKA-15021",
)
UNFLAGGED = AnomalyKind(
    id="unflagged-election",
    meaning="A broker that was neither in sync nor eligible was elected alone, and nothing tells that this "
    "was unclean.",
    guarantee="An unclean election marks the partition as recovering (leaderRecoveryState).",
    source="KIP-704; Kafka's PartitionChangeBuilder.tryElection",
)
CHANGE_OF_NOTHING = AnomalyKind(
    id="change-of-nothing",
    meaning="The metadata log changes a partition that it did not make, or that it removed before; or it "
    "makes one of such a topic.",
    guarantee="A change is about a partition that exists, and a partition is one of a topic that exists; no "
    "controller or broker can replay another.",
    source="Kafka's ReplicationControlManager.replay, of PartitionRecord and PartitionChangeRecord; "
    "KAFKA-19383",
)
EPOCH_WENT_BACK = AnomalyKind(
    id="epoch-went-back",
    meaning="An epoch, or a block of producer ids, in the metadata log is not beyond the one before it.",
    guarantee="The epochs of partitions and of brokers, and the ids of producers, only grow.",
    source="Kafka's ClusterControlManager and ProducerIdControlManager.replay; KIP-631; KIP-730",
)
INACTIVE_CHOSEN = AnomalyKind(
    id="inactive-broker-chosen",
    meaning="A change let a broker into an ISR, or elected it, that was fenced or about to shut down.",
    guarantee="A broker that is fenced, or in a controlled shutdown, neither joins an ISR nor is elected.",
    source="KIP-841; Kafka's ReplicationControlManager.ineligibleReplicasForIsr",
)
UNCLEAN_MEMBER = AnomalyKind(
    id="unclean-broker-kept",
    meaning="A broker whose process was killed is still in an ISR or ELR when its next process is unfenced.",
    guarantee="A broker that comes back after an unclean shutdown is removed from every ISR and ELR.",
    source="KIP-966, Unclean shutdown; Kafka's ReplicationControlManager.handleBrokerShutdown",
)
ACKED_BELOW_MIN_ISR = AnomalyKind(
    id="acked-below-min-isr",
    meaning="A record was sent with acks=all and acknowledged while too few replicas were in sync, and the "
    "leader knew.",
    guarantee="With acks=all nothing is appended, or acknowledged, while the ISR has fewer members than "
    "min.insync.replicas asks for.",
    source="Kafka documentation, min.insync.replicas; Kafka's Partition.appendRecordsToLeader",
)
ACKED_WITHOUT_MEMBER = AnomalyKind(
    id="acked-without-member",
    meaning="A record was acknowledged with acks=all although a member of the ISR did not have it: that was "
    "down, or its log ended before the record later.",
    guarantee="With acks=all every replica in sync has a record before it is acknowledged.",
    source="Kafka documentation, acks; Kafka's Partition.checkEnoughReplicasReachOffset",
)
READ_WITHOUT_MEMBER = AnomalyKind(
    id="read-without-member",
    meaning="A record was returned to a reader although a member of the ISR did not have it: it was down, or "
    "its log ended before the record later.",
    guarantee="Readers are given only what every replica in sync has.",
    source="Kafka documentation, Design, Replication; Kafka's Partition.maybeIncrementLeaderHW",
)
COMMITTED_WITHOUT_MEMBER = AnomalyKind(
    id="committed-without-member",
    meaning="A group's commit was acknowledged although a member of the ISR of its partition of the offsets "
    "topic did not have the record: the log of that member ended before it later.",
    guarantee="An offset commit is acknowledged once all replicas in sync have it.",
    source="Kafka documentation, Distribution, Consumer Offset Tracking; "
    "org.apache.kafka.deferred.DeferredEventQueue",
)
COMMIT_IN_NO_LOG = AnomalyKind(
    id="commit-in-no-log",
    meaning="A group's commit was acknowledged, and its record is not in the log of the offsets topic, up to "
    "one that was asked for later.",
    guarantee="An offset commit that was acknowledged is in the log of its partition of the offsets topic, "
    "and whoever leads that partition later has it.",
    source="Kafka documentation, Distribution, Consumer Offset Tracking, and Design, Replication; "
    "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime",
)
COMMIT_COMPACTED_AWAY = AnomalyKind(
    id="commit-compacted-away",
    meaning="The last commit of a group for a partition is gone from a replica of the offsets topic: nothing "
    "behind it replaces or deletes it, or only what compaction must not count.",
    guarantee="Compaction keeps at least the last record of every key, does not count records of aborted "
    "transactions, and stays below the last stable offset.",
    source="Kafka documentation, Design, Log Compaction; "
    "org.apache.kafka.storage.internals.log.Cleaner.buildOffsetMap and LogCleanerManager.cleanableOffsets",
)
COMMIT_COMPACTED_EARLY = AnomalyKind(
    id="commit-compacted-early",
    meaning="A group's commit is gone from the log of the leader of its partition of the offsets topic, and "
    "all records that replace or delete it are in the segment that the leader writes to.",
    guarantee="The active segment is never compacted, so nothing in it replaces anything.",
    source="Kafka documentation, Design, Log Compaction, Configuring the Log Cleaner; KIP-58",
)
TWO_LEADERS = AnomalyKind(
    id="two-partition-leaders",
    meaning="Brokers told of two leaders of a partition in one leader epoch.",
    guarantee="A leader epoch has one leader.",
    source="KIP-101; KIP-631; Kafka's PartitionRegistration",
)
VIEW_WITHOUT_RECORD = AnomalyKind(
    id="view-without-record",
    meaning="A broker told of a partition what the metadata log never had, or had not yet.",
    guarantee="What brokers tell of partitions is what committed records of the metadata log say, or said.",
    source="KIP-595; KIP-631; Kafka's KRaftMetadataCache",
)
VIEW_WENT_BACK = AnomalyKind(
    id="view-went-back",
    meaning="A broker told of an older leader epoch than before, or no more of a partition that nobody had "
    "removed, and was not restarted meanwhile.",
    guarantee="A broker applies committed records in their order and forgets none.",
    source="KIP-595; KIP-631; Kafka's MetadataLoader",
)
LEADERSHIP_KEPT = AnomalyKind(
    id="leadership-kept",
    meaning="A broker answered as a partition's leader although its own metadata had named another one for "
    "ten seconds.",
    guarantee="A broker stops to lead a partition once it knows of another leader.",
    source="KIP-631; Kafka's ReplicaManager.applyDelta and Partition.makeFollower",
)
FAILED_DIRECTORY_LED = AnomalyKind(
    id="failed-directory-led",
    meaning="A broker went on to lead a partition in a log directory that had failed, undisturbed and under "
    "an active controller.",
    guarantee="A broker tells the controller of a log directory that failed, which elects others to lead its "
    "partitions, or nobody.",
    source="KIP-112; KIP-858; Kafka's ReplicaManager.handleLogDirFailure and "
    "ReplicationControlManager.handleDirectoriesOffline",
)
RECOVERY_DENIED = AnomalyKind(
    id="recovery-denied",
    meaning="A partition that was told to have recovered had no full ISR by the metadata log, or by all "
    "brokers.",
    guarantee="Once healed, every partition elects a leader, and its replicas rejoin.",
    source="Kafka documentation, Design, Replication: replicas rejoin the ISR once they have caught up",
)

REPLICA_END_REGRESSION = AnomalyKind(
    id="replica-end-regression",
    meaning="A broker started again and loaded a log that lacks what was acknowledged with it in sync.",
    guarantee="With acks=all every replica in sync has a record before it is acknowledged, and the end of a "
    "process takes nothing from a log.",
    source="Kafka documentation, acks, and Implementation, Log (recovery)",
)
ACKED_BEYOND_MARK = AnomalyKind(
    id="acked-beyond-high-watermark",
    meaning="A record was acknowledged with acks=all that its leader's high watermark had not passed later.",
    guarantee="With acks=all a record is acknowledged once the high watermark has passed it.",
    source="Kafka documentation, acks; Kafka's Partition.checkEnoughReplicasReachOffset",
)
MARK_BEYOND_MEMBER = AnomalyKind(
    id="high-watermark-beyond-member",
    meaning="A leader's high watermark lay beyond what a replica in sync had fetched, by its own log.",
    guarantee="A record is committed once every replica in sync has it.",
    source="Kafka documentation, Design, Replication; Kafka's Partition.maybeIncrementLeaderHW",
)

ANOMALIES = by_id(
    TWO_LEADERS,
    VIEW_WITHOUT_RECORD,
    VIEW_WENT_BACK,
    RECOVERY_DENIED,
    LEADERSHIP_KEPT,
    FAILED_DIRECTORY_LED,
    ACKED_BELOW_MIN_ISR,
    ACKED_WITHOUT_MEMBER,
    READ_WITHOUT_MEMBER,
    COMMITTED_WITHOUT_MEMBER,
    COMMIT_IN_NO_LOG,
    COMMIT_COMPACTED_AWAY,
    COMMIT_COMPACTED_EARLY,
    LEADER_OUTSIDE_ISR,
    ISR_OUTSIDE_REPLICAS,
    ISR_AND_ELR,
    ELR_BESIDE_ISR,
    RESTATED,
    UNFLAGGED,
    CHANGE_OF_NOTHING,
    EPOCH_WENT_BACK,
    INACTIVE_CHOSEN,
    UNCLEAN_MEMBER,
    REPLICA_END_REGRESSION,
    MARK_BEYOND_MEMBER,
    ACKED_BEYOND_MARK,
)
"""All of them by id."""
