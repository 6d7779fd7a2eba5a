"""The anomalies of the partitions checker."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

LEADER_OUTSIDE_ISR = AnomalyKind(
    id="leader-outside-isr",
    meaning="A record of the metadata log left a partition with a leader that is not in its ISR.",
    guarantee="The leader is a member of the ISR, also after an unclean election.",
    source="Kafka's PartitionChangeBuilder.tryElection; KIP-704; KIP-966",
)
ISR_OUTSIDE_REPLICAS = AnomalyKind(
    id="isr-outside-replicas",
    meaning="A record of the metadata log left a partition with an ISR member that is not a replica.",
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
    meaning="A partition change repeats what is already in the metadata log.",
    guarantee="A controller writes a partition change only if it changes the state. Exceptions: a "
    "leader is repeated when replicas are removed, and by old metadata versions when the "
    "ISR shrinks.",
    source="Kafka's PartitionChangeBuilder.build; KAFKA-15021",
)
UNFLAGGED = AnomalyKind(
    id="unflagged-election",
    meaning="A broker that was neither in the ISR nor in the ELR was elected, and the record does "
    "not mark the election as unclean.",
    guarantee="An unclean election marks the partition as recovering (leaderRecoveryState).",
    source="KIP-704; Kafka's PartitionChangeBuilder.tryElection",
)
CHANGE_OF_NOTHING = AnomalyKind(
    id="change-of-nothing",
    meaning="The metadata log changes a partition that does not exist, or adds a partition to a "
    "topic that does not exist.",
    guarantee="A change refers to an existing partition, and a partition to an existing topic. No "
    "controller or broker can replay a record that does not.",
    source="Kafka's ReplicationControlManager.replay, of PartitionRecord and PartitionChangeRecord; "
    "KAFKA-19383",
)
EPOCH_WENT_BACK = AnomalyKind(
    id="epoch-went-back",
    meaning="An epoch or a block of producer ids in the metadata log is not greater than the previous one.",
    guarantee="Partition epochs, broker epochs and producer ids only increase.",
    source="Kafka's ClusterControlManager and ProducerIdControlManager.replay; KIP-631; KIP-730",
)
INACTIVE_CHOSEN = AnomalyKind(
    id="inactive-broker-chosen",
    meaning="A change added a broker to an ISR, or elected it, although it was fenced, in a controlled "
    "shutdown or unregistered.",
    guarantee="A broker that is fenced, in a controlled shutdown or unregistered does not join an ISR and is "
    "not elected.",
    source="KIP-841; Kafka's ReplicationControlManager.ineligibleReplicasForIsr",
)
ASSIGNED_TO_CORDONED = AnomalyKind(
    id="assigned-to-cordoned",
    meaning="A record of the metadata log made a broker a replica of a partition, although all its log "
    "directories were cordoned.",
    guarantee="A broker whose log directories are all cordoned gets no further replicas; an assignment or "
    "reassignment that adds one is refused.",
    source="KIP-1066; Kafka's ReplicationControlManager.validateManualPartitionAssignment; KAFKA-20832, "
    "fixed in 4.3.2 and 4.4.0",
)
ASSIGNED_TO_UNREGISTERED = AnomalyKind(
    id="assigned-to-unregistered",
    meaning="A record of the metadata log made a broker a replica of a partition, although its registration "
    "had been removed.",
    guarantee="A broker that is not registered gets no further replicas; an assignment or reassignment that "
    "adds one is refused.",
    source="KIP-500, UnregisterBroker; Kafka's ReplicationControlManager.validateManualPartitionAssignment "
    "and StripedReplicaPlacer",
)
UNCLEAN_MEMBER = AnomalyKind(
    id="unclean-broker-kept",
    meaning="A broker whose process was killed is still in an ISR or ELR when its next process is unfenced.",
    guarantee="A broker that comes back after an unclean shutdown is removed from every ISR and ELR.",
    source="KIP-966, Unclean shutdown; Kafka's ReplicationControlManager.handleBrokerShutdown",
)
ACKED_BELOW_MIN_ISR = AnomalyKind(
    id="acked-below-min-isr",
    meaning="A record was sent with acks=all and acknowledged while the leader knew that too few "
    "replicas were in sync.",
    guarantee="With acks=all no record is appended or acknowledged while the ISR has fewer than "
    "min.insync.replicas members.",
    source="Kafka documentation, min.insync.replicas; Kafka's Partition.appendRecordsToLeader",
)
ACKED_WITHOUT_MEMBER = AnomalyKind(
    id="acked-without-member",
    meaning="A record was acknowledged with acks=all although a member of the ISR did not have it: "
    "the member was down, or its log later ended before the record.",
    guarantee="With acks=all a record is acknowledged only after all in-sync replicas have it.",
    source="Kafka documentation, acks; Kafka's Partition.checkEnoughReplicasReachOffset",
)
READ_WITHOUT_MEMBER = AnomalyKind(
    id="read-without-member",
    meaning="A record was returned to a reader although a member of the ISR did not have it: the "
    "member was down, or its log later ended before the record.",
    guarantee="Readers get only records that all in-sync replicas have.",
    source="Kafka documentation, Design, Replication; Kafka's Partition.maybeIncrementLeaderHW",
)
COMMITTED_WITHOUT_MEMBER = AnomalyKind(
    id="committed-without-member",
    meaning="A group's commit was acknowledged although a member of the ISR of its partition of "
    "the offsets topic did not have the record: the log of that member later ended before "
    "it.",
    guarantee="An offset commit is acknowledged only after all in-sync replicas have it.",
    source="Kafka documentation, Distribution, Consumer Offset Tracking; "
    "org.apache.kafka.deferred.DeferredEventQueue",
)
COMMIT_IN_NO_LOG = AnomalyKind(
    id="commit-in-no-log",
    meaning="A group's commit was acknowledged, and the log of the offsets topic has a later "
    "commit but not this one.",
    guarantee="An acknowledged offset commit is in the log of its partition of the offsets topic, "
    "and every later leader of that partition has it.",
    source="Kafka documentation, Distribution, Consumer Offset Tracking, and Design, Replication; "
    "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime",
)
COMMIT_COMPACTED_AWAY = AnomalyKind(
    id="commit-compacted-away",
    meaning="A replica of the offsets topic lacks the last commit of a group for a partition, and "
    "no later record that compaction may count replaces or deletes it.",
    guarantee="Compaction keeps at least the last record of every key, ignores records of aborted "
    "transactions, and stays below the last stable offset.",
    source="Kafka documentation, Design, Log Compaction; "
    "org.apache.kafka.storage.internals.log.Cleaner.buildOffsetMap and LogCleanerManager.cleanableOffsets",
)
COMMIT_COMPACTED_EARLY = AnomalyKind(
    id="commit-compacted-early",
    meaning="A group's commit is gone from a replica of its partition of the offsets topic, and all records "
    "that replace or delete it are where nothing was cleaned yet.",
    guarantee="Records replace earlier ones only once they are cleaned themselves, and the active segment "
    "never is.",
    source="Kafka documentation, Design, Log Compaction, Configuring the Log Cleaner; KIP-58; "
    "org.apache.kafka.storage.internals.log.Cleaner.buildOffsetMap",
)
TWO_LEADERS = AnomalyKind(
    id="two-partition-leaders",
    meaning="Brokers reported two leaders of a partition in one leader epoch.",
    guarantee="A leader epoch has one leader.",
    source="KIP-101; KIP-631; Kafka's PartitionRegistration",
)
VIEW_WITHOUT_RECORD = AnomalyKind(
    id="view-without-record",
    meaning="A broker reported a state of a partition that the metadata log never had, or did not have yet.",
    guarantee="Brokers report partitions as the committed records of the metadata log state them.",
    source="KIP-595; KIP-631; Kafka's KRaftMetadataCache",
)
VIEW_WENT_BACK = AnomalyKind(
    id="view-went-back",
    meaning="Without a restart a broker reported an older leader epoch than before, or no longer "
    "reported a partition that was not removed.",
    guarantee="A broker applies all committed records in their order.",
    source="KIP-595; KIP-631; Kafka's MetadataLoader",
)
LEADERSHIP_KEPT = AnomalyKind(
    id="leadership-kept",
    meaning="A broker answered as the leader of a partition although its own metadata had named "
    "another leader for ten seconds.",
    guarantee="A broker stops leading a partition once it knows of another leader.",
    source="KIP-631; Kafka's ReplicaManager.applyDelta and Partition.makeFollower",
)
FAILED_DIRECTORY_LED = AnomalyKind(
    id="failed-directory-led",
    meaning="A broker kept leading a partition in a failed log directory, with an active "
    "controller and no other fault.",
    guarantee="A broker reports a failed log directory to the controller. The controller then "
    "elects other leaders for its partitions, or none.",
    source="KIP-112; KIP-858; Kafka's ReplicaManager.handleLogDirFailure and "
    "ReplicationControlManager.handleDirectoriesOffline",
)
RECOVERY_DENIED = AnomalyKind(
    id="recovery-denied",
    meaning="A partition was reported as recovered, but its ISR was not full by the metadata log, "
    "or by all brokers.",
    guarantee="After faults are healed, every partition elects a leader and its replicas rejoin the ISR.",
    source="Kafka documentation, Design, Replication: replicas rejoin the ISR once they have caught up",
)

REPLICA_END_REGRESSION = AnomalyKind(
    id="replica-end-regression",
    meaning="A broker restarted with a log that lacks records that were acknowledged while it was in sync.",
    guarantee="With acks=all every replica in sync has a record before it is acknowledged, and the "
    "end of a process removes no record from a log.",
    source="Kafka documentation, acks, and Implementation, Log (recovery)",
)
ACKED_BEYOND_MARK = AnomalyKind(
    id="acked-beyond-high-watermark",
    meaning="A record was acknowledged with acks=all, and later the high watermark of its leader "
    "was not beyond it.",
    guarantee="With acks=all a record is acknowledged only after the high watermark has passed it.",
    source="Kafka documentation, acks; Kafka's Partition.checkEnoughReplicasReachOffset",
)
MARK_BEYOND_MEMBER = AnomalyKind(
    id="high-watermark-beyond-member",
    meaning="By the leader's own log, its high watermark was beyond what an in-sync replica had fetched.",
    guarantee="A record is committed only after all in-sync replicas have it.",
    source="Kafka documentation, Design, Replication; Kafka's Partition.maybeIncrementLeaderHW",
)
TRUNCATED_BELOW_MARK = AnomalyKind(
    id="truncated-below-high-watermark",
    meaning="A follower truncated its log below its high watermark, and every leader had been elected "
    "cleanly.",
    guarantee="What is below the high watermark is committed: every replica that may be elected has it, so "
    "that no follower truncates it.",
    source="Kafka documentation, Design, Replication; KIP-101, KIP-279; Kafka's UnifiedLog.truncateTo",
)
TRUNCATED_COMMITTED = AnomalyKind(
    id="truncated-committed",
    meaning="A follower removed acknowledged records that it had got as a member of the ISR, and every "
    "leader had been elected cleanly.",
    guarantee="A committed record is in the log of every replica that may be elected, so that no follower "
    "that has it truncates it.",
    source="Kafka documentation, Design, Replication; KIP-101, KIP-279; Kafka's UnifiedLog.truncateTo",
)
RETURN_WITHOUT_ELECTION = AnomalyKind(
    id="return-without-election",
    meaning="A controller unfenced a broker and did not elect it for a partition without a leader that it "
    "may lead.",
    guarantee="A partition without a leader gets one as soon as a member of its ISR is back, or, if the ISR "
    "is empty, of its ELR.",
    source="KIP-966; Kafka's ReplicationControlManager.handleBrokerUnfenced",
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
    ASSIGNED_TO_CORDONED,
    ASSIGNED_TO_UNREGISTERED,
    UNCLEAN_MEMBER,
    REPLICA_END_REGRESSION,
    MARK_BEYOND_MEMBER,
    ACKED_BEYOND_MARK,
    TRUNCATED_BELOW_MARK,
    TRUNCATED_COMMITTED,
    RETURN_WITHOUT_ELECTION,
)
"""All anomalies by id."""
NEEDS = Needs(
    (
        Source.DISKS,
        Source.QUORUM,
        Source.CLIENTS,
        Source.PARTITIONS,
        Source.ENDS,
        Source.COMMITS,
        Source.FAULTS,
        Source.RUNNER,
        Source.BROKER_LOGS,
        Source.BROKER_LOADS,
        Source.SHRUNK_ISRS,
        Source.TRUNCATIONS,
    ),
    {
        "elr-beside-isr": (Source.MOVES,),
        "acked-below-min-isr": (Source.FAULTS, Source.MOVES),
        "replica-end-regression": (Source.FAULTS,),
        "high-watermark-beyond-member": (Source.FAULTS,),
        "acked-beyond-high-watermark": (Source.FAULTS, Source.NODES),
        "truncated-below-high-watermark": PERMITTED,
        "return-without-election": (Source.FAULTS,),
        "truncated-committed": (*PERMITTED, Source.MOVES),
        "unclean-broker-kept": (Source.FAULTS, Source.MOVES),
        "acked-without-member": (Source.FAULTS, Source.NODES),
        "read-without-member": (Source.FAULTS, Source.NODES),
        "committed-without-member": (Source.FAULTS, Source.NODES, Source.COMMITS),
        "commit-in-no-log": (*PERMITTED, Source.CLIENTS, Source.COMMITS),
        "commit-compacted-away": (*PERMITTED, Source.COMMITS),
        "commit-compacted-early": (*PERMITTED, Source.COMMITS),
        "view-without-record": (Source.FAULTS,),
        "view-went-back": (Source.FAULTS, Source.NODES),
        "recovery-denied": (Source.PARTITIONS,),
        "leadership-kept": (Source.FAULTS, Source.NODES),
        "failed-directory-led": (
            Source.FAULTS,
            Source.NODES,
            Source.QUORUM,
            Source.PARTITIONS,
            Source.CLIENTS,
        ),
    },
)
"""The journals that the checker's rules need."""
