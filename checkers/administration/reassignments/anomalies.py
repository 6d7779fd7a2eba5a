"""The anomalies of the reassignment checker."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import Needs

PREMATURE = AnomalyKind(
    id="reassignment-premature",
    meaning="A reassignment was completed while a replica that had to be in sync was not.",
    guarantee="A reassignment is complete when all added replicas are in sync. If fewer replicas "
    "are added than removed, all replicas of the target must be in sync.",
    source="KIP-455; KAFKA-15665, fixed in 3.8.0; Kafka's PartitionReassignmentReplicas",
)
LOST = AnomalyKind(
    id="reassignment-lost",
    meaning="An acknowledged reassignment, or its cancellation, never reached the metadata log, or "
    "was undone without a request.",
    guarantee="An acknowledged reassignment continues until it is complete, cancelled or replaced "
    "by another one.",
    source="KIP-455",
)
NOT_RESTORED = AnomalyKind(
    id="reassignment-not-restored",
    meaning="After a reassignment was cancelled, the replicas were not those from before it.",
    guarantee="Cancelling a reassignment restores the original replicas.",
    source="KIP-455",
)
TOO_FEW = AnomalyKind(
    id="too-few-replicas",
    meaning="A partition had fewer replicas than before, and than any request asked for.",
    guarantee="During a reassignment a partition has its old and its new replicas.",
    source="KIP-455",
)
WITHOUT_END = AnomalyKind(
    id="reassignment-without-end",
    meaning="A reassignment did not complete although all replicas of its target were in sync.",
    guarantee="A reassignment is complete as soon as all replicas of its target are in sync.",
    source="KIP-455; Kafka's PartitionReassignmentReplicas; docs/findings.md",
)
HELD_UP = AnomalyKind(
    id="reassignment-held-up",
    meaning="A reassignment was not completed although the replicas for which it waits were in sync.",
    guarantee="A reassignment is complete as soon as all added replicas are in sync. If fewer replicas "
    "are added than removed, all replicas of the target must be in sync.",
    source="KIP-455; KAFKA-19975, fixed in 4.3.0; Kafka's PartitionReassignmentReplicas",
)

UNASKED = AnomalyKind(
    id="reassignment-unasked",
    meaning="A partition got replicas, or began to add replicas, that no request had asked for.",
    guarantee="A partition keeps the replicas that it was created with until a request changes them.",
    source="KIP-455; Kafka's ReplicationControlManager.changePartitionReassignment",
)

WITHOUT_RECORD = AnomalyKind(
    id="reassignment-without-record",
    meaning="A reassignment was listed as ongoing that the metadata log never had, or did not have yet.",
    guarantee="Reassignments are listed as the committed records of the metadata log state them.",
    source="KIP-455; Kafka's QuorumController.listPartitionReassignments, which reads what is committed",
)

UNCOMMITTED = AnomalyKind(
    id="reassignment-uncommitted",
    meaning="A controller that had lost its quorum listed a target that was requested, but not committed.",
    guarantee="Reassignments are listed as the committed records of the metadata log state them.",
    source="KIP-455; Kafka's QuorumController.listPartitionReassignments; docs/findings.md",
)

ANOMALIES = by_id(
    PREMATURE, LOST, NOT_RESTORED, TOO_FEW, WITHOUT_END, HELD_UP, UNASKED, WITHOUT_RECORD, UNCOMMITTED
)
"""All anomalies by id."""
NEEDS = Needs(
    (Source.ADMIN, Source.DISKS, Source.REASSIGNMENTS),
    {
        # Without an answer of a later leader, a target that was listed uncommitted looks like any other.
        "reassignment-without-record": (Source.FAULTS, Source.QUORUM),
        "reassignment-uncommitted": (Source.FAULTS,),
    },
    (Source.ADMIN,),
)
"""The journals that the checker's rules need."""
