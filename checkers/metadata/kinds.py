"""What the metadata checker can find."""

from checkers.kinds import AnomalyKind, by_id

_KEPT = "An acknowledged change of the metadata is committed by a majority of controllers and never lost."
_SOURCE = "KIP-500 and KIP-595: the metadata log; Kafka documentation, Operations, KRaft"

PHANTOM_TOPIC = AnomalyKind(
    id="phantom-topic",
    meaning="A broker listed a topic that nobody had created, or whose creation had certainly failed.",
    guarantee="A topic exists only after somebody began to create it.",
    source=_SOURCE,
)
CHANGED_TOPIC_ID = AnomalyKind(
    id="changed-topic-id",
    meaning="A topic that was created once was told of with two ids.",
    guarantee="A topic has one id from its creation to its deletion.",
    source="KIP-516: topic identifiers",
)
LOST_TOPIC = AnomalyKind(
    id="lost-topic",
    meaning="A broker's last list lacked a topic whose creation was acknowledged and that nobody deleted.",
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
    meaning="After recovery brokers listed different topics until the time for it was over.",
    guarantee="Brokers apply the one metadata log in its order, so that all reach the same state.",
    source=_SOURCE,
)
METADATA_ACK_LOST = AnomalyKind(
    id="metadata-ack-lost",
    meaning="A change of the metadata was acknowledged, and the log that a majority keeps does not have it.",
    guarantee=_KEPT,
    source="KIP-631, The Controller; KIP-853, Add Voter and Remove Voter; Kafka's QuorumController",
)
METADATA_ACK_EARLY = AnomalyKind(
    id="metadata-ack-early",
    meaning="A change of the metadata was acknowledged before its record was appended, or committed.",
    guarantee="A controller answers a change after its records are committed, so that no failover undoes it.",
    source="KIP-631, The Controller; Kafka's QuorumController.ControllerWriteEvent, DeferredEventQueue",
)
TOPIC_UNKNOWN = AnomalyKind(
    id="acknowledged-topic-unknown",
    meaning="A deletion was refused since the topic was unknown, although its creation was acknowledged.",
    guarantee="A controller that leads alone knows each topic that is in its log and was not deleted.",
    source="KIP-631, The Controller; Kafka's ControllerApis.deleteTopics",
)

ANOMALIES = by_id(
    PHANTOM_TOPIC,
    CHANGED_TOPIC_ID,
    LOST_TOPIC,
    RESURRECTED_TOPIC,
    DIVERGENT_METADATA,
    METADATA_ACK_LOST,
    METADATA_ACK_EARLY,
    TOPIC_UNKNOWN,
)
"""All of them by id."""
