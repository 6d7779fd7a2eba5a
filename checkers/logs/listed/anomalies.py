"""The anomalies in leaders' answers to ListOffsets."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

_SOURCE = "Kafka protocol, ListOffsets"

END_BEHIND = AnomalyKind(
    id="listed-end-behind",
    meaning="A leader reported an end offset below what had been acknowledged, read or reported before.",
    guarantee="The end offset that a leader reports never decreases, and is beyond all records that were "
    "acknowledged or read.",
    source=f"KIP-207, Offsets returned by ListOffsetsResponse should be monotonically increasing; {_SOURCE}",
)
END_AHEAD = AnomalyKind(
    id="listed-end-ahead",
    meaning="A leader reported an end offset, and a record at or below it was sent only afterwards.",
    guarantee="Records below the end offset that a leader reports are committed and never overwritten.",
    source=f"{_SOURCE}; Kafka documentation, Design, Replicated Logs",
)
STABLE_AHEAD = AnomalyKind(
    id="stable-offset-ahead",
    meaning="A leader reported a last stable offset beyond a record of an open transaction.",
    guarantee="The last stable offset is at or below the first record of every open transaction.",
    source="KIP-98, Last stable offset; Kafka protocol, ListOffsets, isolation_level",
)
START_AHEAD = AnomalyKind(
    id="listed-start-ahead",
    meaning="A leader reported a log start offset beyond all offsets of requests to delete records.",
    guarantee="The log start offset moves only when records are deleted on request or by retention.",
    source="KIP-107; Kafka documentation, Topic configs, retention.ms, retention.bytes",
)
START_BEHIND = AnomalyKind(
    id="listed-start-behind",
    meaning="A leader reported a log start offset below one that DeleteRecords had reached.",
    guarantee="Deleted records stay deleted, and the log start offset never decreases.",
    source="KIP-107, low watermark; Kafka protocol, DeleteRecords",
)
DELETED_EARLY = AnomalyKind(
    id="deleted-before-followers",
    meaning="DeleteRecords was acknowledged, and later the log of an in-sync replica began below its offset.",
    guarantee="DeleteRecords is acknowledged once all live replicas have moved their log start offsets.",
    source="KIP-107; Kafka's ReplicaManager.delayedDeleteRecordsRequired and Partition.lowWatermarkIfLeader",
)
TIME_WRONG = AnomalyKind(
    id="listed-time-wrong",
    meaning="Asked by timestamp, a leader returned a record that is not the first one since that "
    "time, not the one with the largest timestamp, or has another timestamp.",
    guarantee="ListOffsets returns the first record whose timestamp is not below the requested "
    "one, or the record with the largest timestamp.",
    source="KIP-79; KIP-734, OffsetSpec.maxTimestamp",
)
ANOMALIES = by_id(END_BEHIND, END_AHEAD, STABLE_AHEAD, START_AHEAD, START_BEHIND, DELETED_EARLY, TIME_WRONG)
"""All anomalies by id."""
NEEDS = Needs(
    (Source.OFFSETS, Source.STARTS, Source.CLIENTS),
    {
        "stable-offset-ahead": (Source.CLIENTS,),
        "listed-start-ahead": (Source.CLIENTS,),
        "listed-start-behind": (Source.NODES,),
        "deleted-before-followers": (Source.CLIENTS, Source.NODES),
    },
    PERMITTED,
    of_workload={"streams": {"listed-end-behind": (Source.NODES,)}},
    not_deleted=frozenset({"listed-time-wrong"}),
)
"""The journals that the checker's rules need."""
