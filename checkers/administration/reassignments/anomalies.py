"""What the reassignment checker can find."""

from checkers.verdict.kinds import AnomalyKind, by_id

PREMATURE = AnomalyKind(
    id="reassignment-premature",
    meaning="A reassignment was completed while a replica that had to be in sync by then was not.",
    guarantee="A reassignment is complete when all added replicas are in sync, and, where fewer are added "
    "than removed, all replicas that were asked for.",
    source="KIP-455; KAFKA-15665, fixed in 3.8.0; Kafka's PartitionReassignmentReplicas",
)
LOST = AnomalyKind(
    id="reassignment-lost",
    meaning="An acknowledged reassignment, or its cancellation, never came into the metadata, or was undone "
    "although nobody had asked for that.",
    guarantee="An acknowledged reassignment goes on until its replicas are those that were asked for, or "
    "until it is cancelled or overridden.",
    source="KIP-455",
)
NOT_RESTORED = AnomalyKind(
    id="reassignment-not-restored",
    meaning="A cancelled reassignment did not leave the replicas that there were before it.",
    guarantee="Cancelling a reassignment restores the original replicas.",
    source="KIP-455",
)
TOO_FEW = AnomalyKind(
    id="too-few-replicas",
    meaning="A partition had fewer replicas than it had before and than anybody had asked for.",
    guarantee="While a reassignment goes on, a partition has its old and its new replicas.",
    source="KIP-455",
)
WITHOUT_END = AnomalyKind(
    id="reassignment-without-end",
    meaning="A reassignment went on to the end although every replica that was to stay was in sync.",
    guarantee="A reassignment is complete as soon as all replicas that were asked for are in sync.",
    source="KIP-455; Kafka's PartitionReassignmentReplicas; docs/findings.md",
)

UNASKED = AnomalyKind(
    id="reassignment-unasked",
    meaning="A partition got replicas, or was to get them, that nobody had asked for.",
    guarantee="Replicas are those that a partition was made with until somebody asks for others.",
    source="KIP-455; Kafka's ReplicationControlManager.changePartitionReassignment",
)

WITHOUT_RECORD = AnomalyKind(
    id="reassignment-without-record",
    meaning="A reassignment was listed as under way that the metadata log never had, or had not yet.",
    guarantee="What is listed is what committed records of the metadata log say, or said.",
    source="KIP-455; Kafka's QuorumController.listPartitionReassignments, which reads what is committed",
)

ANOMALIES = by_id(PREMATURE, LOST, NOT_RESTORED, TOO_FEW, WITHOUT_END, UNASKED, WITHOUT_RECORD)
"""All of them by id."""
