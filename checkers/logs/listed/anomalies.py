"""What leaders' answers to ListOffsets can show."""

from checkers.verdict.kinds import AnomalyKind, by_id

_SOURCE = "Kafka protocol, ListOffsets"

END_BEHIND = AnomalyKind(
    id="listed-end-behind",
    meaning="A leader told an end of a partition below what had been acknowledged, or told, before.",
    guarantee="The end that a leader tells does not go back, and lies behind all that was acknowledged.",
    source=f"KIP-207, Offsets returned by ListOffsetsResponse should be monotonically increasing; {_SOURCE}",
)
END_AHEAD = AnomalyKind(
    id="listed-end-ahead",
    meaning="A leader told of an offset at or below which a record stands that was sent only afterwards.",
    guarantee="What a leader tells to be the end is committed, and is not written anew.",
    source=f"{_SOURCE}; Kafka documentation, Design, Replicated Logs",
)
STABLE_AHEAD = AnomalyKind(
    id="stable-offset-ahead",
    meaning="A leader told a last stable offset behind a record of a transaction that was open.",
    guarantee="The last stable offset lies before every transaction that is neither committed nor aborted.",
    source="KIP-98, Last stable offset; Kafka protocol, ListOffsets, isolation_level",
)
START_AHEAD = AnomalyKind(
    id="listed-start-ahead",
    meaning="A leader told that a log begins behind all offsets below which anybody asked to delete.",
    guarantee="A log begins where it did until records are deleted on request or by retention.",
    source="KIP-107; Kafka documentation, Topic configs, retention.ms, retention.bytes",
)
START_BEHIND = AnomalyKind(
    id="listed-start-behind",
    meaning="A leader told that a log begins below an offset below which all records had been deleted.",
    guarantee="What was deleted on request stays deleted, and the start of a log does not go back.",
    source="KIP-107, low watermark; Kafka protocol, DeleteRecords",
)
DELETED_EARLY = AnomalyKind(
    id="deleted-before-followers",
    meaning="DeleteRecords was acknowledged, and the log of a replica in sync began below that later.",
    guarantee="DeleteRecords is answered once all live replicas have moved the starts of their logs.",
    source="KIP-107; Kafka's ReplicaManager.delayedDeleteRecordsRequired and Partition.lowWatermarkIfLeader",
)
TIME_WRONG = AnomalyKind(
    id="listed-time-wrong",
    meaning="A leader told another record than the first since a time, or the newest, or another timestamp.",
    guarantee="The first record is told with no smaller timestamp than asked for, or that with the largest.",
    source="KIP-79; KIP-734, OffsetSpec.maxTimestamp",
)
ANOMALIES = by_id(END_BEHIND, END_AHEAD, STABLE_AHEAD, START_AHEAD, START_BEHIND, DELETED_EARLY, TIME_WRONG)
"""All of them by id."""
