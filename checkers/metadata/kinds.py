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

ANOMALIES = by_id(PHANTOM_TOPIC, CHANGED_TOPIC_ID, LOST_TOPIC, RESURRECTED_TOPIC, DIVERGENT_METADATA)
"""All of them by id."""
