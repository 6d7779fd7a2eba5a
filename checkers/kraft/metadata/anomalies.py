"""The anomalies of the metadata checker."""

from checkers.history.sources import Source
from checkers.kraft.quorum.leader_answers import UNFOUNDED_MARK
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import Needs

_KEPT = "An acknowledged metadata change is committed by a majority of controllers and never lost."
_SOURCE = "KIP-500 and KIP-595: the metadata log; Kafka documentation, Operations, KRaft"

PHANTOM_TOPIC = AnomalyKind(
    id="phantom-topic",
    meaning="A broker listed a topic that was never created, or whose creation definitely failed.",
    guarantee="A topic exists only after a request to create it was sent.",
    source=_SOURCE,
)
CHANGED_TOPIC_ID = AnomalyKind(
    id="changed-topic-id",
    meaning="More topic ids were reported for a name than topics were created with it.",
    guarantee="A topic has one id from its creation to its deletion.",
    source="KIP-516: topic identifiers",
)
REUSED_TOPIC_ID = AnomalyKind(
    id="reused-topic-id",
    meaning="A topic was created with an id that another topic, of this or another name, had before.",
    guarantee="Each topic has an id of its own, also a topic that is created again with its old name.",
    source="KIP-516: topic identifiers; Kafka's ReplicationControlManager.createTopic",
)
CREATED_TWICE = AnomalyKind(
    id="topic-created-twice",
    meaning="A topic was created although a topic of that name existed.",
    guarantee="A name belongs to one topic at a time: a second creation is refused (TOPIC_ALREADY_EXISTS).",
    source="KIP-4; KIP-631; Kafka's ReplicationControlManager.createTopics",
)
RETURNED_TOPIC_ID = AnomalyKind(
    id="returned-topic-id",
    meaning="A broker reported an old id of a recreated topic after it had reported the new id.",
    guarantee="A broker applies the metadata log in its order, and no record brings back a deleted topic.",
    source="KIP-631, Broker metadata; KIP-516; KAFKA-19383",
)
DELETED_RECORDS = AnomalyKind(
    id="deleted-topic-read",
    meaning=(
        "A fetch by a topic's id returned a record that was not appended to that topic: one of an earlier "
        "topic of its name, of another name, or an offset above all that was appended."
    ),
    guarantee="A fetch by topic id returns only records of that topic. The log of a new topic "
    "begins at offset 0.",
    source="KIP-516: topic identifiers, Fetch v13, partition.metadata",
)
LISTED_AGAINST_LOG = AnomalyKind(
    id="listed-against-log",
    meaning=(
        "A broker listed a topic that the metadata log did not have at that time. Or its last list "
        "has a topic that the log had removed at least 10 s before, or lacks one that the log had "
        "created at least 10 s before."
    ),
    guarantee="Brokers know exactly the topics of the committed metadata log, by their ids.",
    source="KIP-631, Broker metadata; KIP-516: topic identifiers",
)
CONFIG_AGAINST_LOG = AnomalyKind(
    id="config-against-log",
    meaning=(
        "At the end a broker reported a topic config that differs from the value that the metadata "
        "log had had for 10 s, did not report it, or reported one that is not in the log."
    ),
    guarantee="Brokers apply all config changes of the metadata log in its order.",
    source="KIP-631, Broker metadata, ConfigRecord; org.apache.kafka.image.ConfigurationDelta",
)
CONFIG_CHANGE_BLOCKED = AnomalyKind(
    id="config-change-blocked",
    meaning=(
        "A change of a topic's config was refused because the topic has another config, one that "
        "was accepted earlier and that Kafka has removed since."
    ),
    guarantee="A change of one config does not depend on another one that this version of Kafka has removed.",
    source="KIP-339, IncrementalAlterConfigs; KIP-724; KAFKA-19851, fixed in 4.2.1",
)
LOST_TOPIC = AnomalyKind(
    id="lost-topic",
    meaning="A broker's last list lacked a topic whose creation was acknowledged and that was not deleted.",
    guarantee=_KEPT,
    source=_SOURCE,
)
RESURRECTED_TOPIC = AnomalyKind(
    id="resurrected-topic",
    meaning="A broker's last list had a topic whose deletion was acknowledged.",
    guarantee=_KEPT,
    source=_SOURCE,
)
DIVERGENT_METADATA = AnomalyKind(
    id="divergent-metadata",
    meaning="After recovery brokers listed different topics at the end of the final phase.",
    guarantee="All brokers apply the same metadata log in its order, so they reach the same state.",
    source=_SOURCE,
)
METADATA_ACK_LOST = AnomalyKind(
    id="metadata-ack-lost",
    meaning="A metadata change was acknowledged, and the log of a majority does not have it.",
    guarantee=_KEPT,
    source="KIP-631, The Controller; KIP-853, Add Voter and Remove Voter; Kafka's QuorumController",
)
METADATA_ACK_EARLY = AnomalyKind(
    id="metadata-ack-early",
    meaning="A metadata change was acknowledged before its record was appended or committed.",
    guarantee="A controller acknowledges a change only after its records are committed, so a "
    "failover does not undo it.",
    source="KIP-631, The Controller; Kafka's QuorumController.ControllerWriteEvent, DeferredEventQueue",
)
TOPIC_UNKNOWN = AnomalyKind(
    id="acknowledged-topic-unknown",
    meaning="A deletion was refused because the topic was unknown, although its creation was acknowledged.",
    guarantee="The only active controller knows each topic that is in its log and was not deleted.",
    source="KIP-631, The Controller; Kafka's ControllerApis.deleteTopics",
)

ANOMALIES = by_id(
    PHANTOM_TOPIC,
    CHANGED_TOPIC_ID,
    REUSED_TOPIC_ID,
    CREATED_TWICE,
    RETURNED_TOPIC_ID,
    DELETED_RECORDS,
    LISTED_AGAINST_LOG,
    CONFIG_AGAINST_LOG,
    CONFIG_CHANGE_BLOCKED,
    LOST_TOPIC,
    RESURRECTED_TOPIC,
    DIVERGENT_METADATA,
    METADATA_ACK_LOST,
    METADATA_ACK_EARLY,
    TOPIC_UNKNOWN,
    UNFOUNDED_MARK,
)
"""All anomalies by id.  The quorum checker reports one of them too, from other evidence."""
NEEDS = Needs(
    (Source.CLIENTS,),
    {
        "phantom-topic": (Source.CLIENTS,),
        "changed-topic-id": (Source.CLIENTS,),
        "topic-created-twice": (Source.CLIENTS, Source.FAULTS),
        "returned-topic-id": (Source.FAULTS, Source.NODES),
        "deleted-topic-read": (Source.CLIENTS,),
        "listed-against-log": (Source.DISKS,),
        "config-against-log": (Source.DISKS,),
        "lost-topic": (Source.CLIENTS, Source.FAULTS),
        "metadata-ack-lost": (Source.DISKS,),
        "metadata-ack-early": (Source.DISKS,),
        "acknowledged-topic-unknown": (Source.CLIENTS, Source.DISKS, Source.QUORUM),
        "high-watermark-unfounded": (Source.CLIENTS,),
    },
    (Source.FAULTS,),
    frozenset({"metadata"}),
)
"""The journals that the checker's rules need."""
