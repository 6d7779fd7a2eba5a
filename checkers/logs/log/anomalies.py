"""The anomalies of the log checker, with the guarantee that each breaks and its source."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

LOST_WRITE = "lost-write"
ANOMALIES = by_id(
    AnomalyKind(
        LOST_WRITE,
        "A record was acknowledged or read, and a final read that covers its offset did not find it.",
        "A record that was acknowledged with acks=all, or returned to a consumer, stays in the log "
        "as long as one in-sync replica keeps its disk. Records of a committed transaction stay "
        "visible.",
        "Kafka documentation, Design, Replication; KIP-966; Jepsen: lost write",
    ),
    AnomalyKind(
        "known-gap",
        "A record that was acknowledged with acks=all is lost because the last replica in sync lost its "
        "disk.",
        "A record that was acknowledged with acks=all stays in the log while fewer than "
        "min.insync.replicas copies of it are destroyed. Without eligible leader replicas Kafka is "
        "known to break this if the last in-sync replica loses its disk.",
        "KIP-966, the last replica standing",
    ),
    AnomalyKind(
        "duplicate",
        "A value is at more offsets than its sends explain.",
        "A record of an idempotent producer is in the log once, also if the producer retries.",
        "KIP-98, idempotent producer; Jepsen: duplicate",
    ),
    AnomalyKind(
        "inconsistent-offsets",
        "Two values were reported at one offset of a partition.",
        "An offset identifies the same record of a partition for every reader at all times.",
        "Kafka documentation, Introduction, Topics and partitions; Jepsen: inconsistent offsets",
    ),
    AnomalyKind(
        "phantom",
        "A value was acknowledged or read in a partition to which it was never sent.",
        "A log contains only records that producers sent to that partition.",
        "Kafka documentation, Design, Message delivery semantics; Jepsen: garbage read",
    ),
    AnomalyKind(
        "G1a",
        "A value was read although all attempts to send it definitely failed, or were aborted.",
        "A record whose send definitely failed is never returned. A record of an aborted "
        "transaction is not returned to read_committed readers.",
        "Adya, Weak Consistency (1999), G1a aborted read; KIP-98",
    ),
    AnomalyKind(
        "poll-skip",
        "A consumer went past a known record, from one poll to the next of its assignment, and did not get "
        "it.",
        "A consumer that keeps its assignment gets every committed record in offset order.",
        "Kafka documentation, Design, Consumer position; Jepsen: poll skip",
    ),
    AnomalyKind(
        "int-poll-skip",
        "One poll returned records before and after a known record, and not that record.",
        "The records of one poll skip no committed record.",
        "Kafka documentation, Design, Consumer position; Jepsen: internal poll skip",
    ),
    AnomalyKind(
        "nonmonotonic-poll",
        "A poll returned an offset below the position of the consumer in its assignment.",
        "A consumer's position only moves forward until its next assignment.",
        "Kafka documentation, Design, Consumer position; Jepsen: nonmonotonic poll",
    ),
    AnomalyKind(
        "int-nonmonotonic-poll",
        "An offset in the records of one poll is not greater than the one before it.",
        "The records of one poll are in offset order.",
        "Kafka documentation, Introduction, Guarantees; Jepsen: internal nonmonotonic poll",
    ),
    AnomalyKind(
        "nonmonotonic-send",
        "Of two batches that a process sent to a partition, the later one got the lower offset.",
        "Records that one producer sends to a partition are appended in the order in which they are sent.",
        "Kafka documentation, Introduction, Guarantees; Jepsen: nonmonotonic send",
    ),
    AnomalyKind(
        "int-nonmonotonic-send",
        "Of two records of one batch, the later one got the lower offset.",
        "Records that an idempotent producer sends in one batch are appended in the order of the batch.",
        "KIP-98, idempotent producer; Jepsen: internal nonmonotonic send",
    ),
    AnomalyKind(
        "realtime-order",
        "A record was appended below an offset that had been acknowledged or read before its send began.",
        "A record is appended after every record that was known to be in the log before its send began.",
        "Kafka documentation, Design, Replicated logs; Herlihy and Wing, Linearizability (1990)",
    ),
    AnomalyKind(
        "unseen",
        "A record was acknowledged, no reader received it, and no final read covers its offset.",
        "An acknowledged record can be read.",
        "Jepsen: unseen",
    ),
    AnomalyKind(
        "client-disagreement",
        "A final read found a record, and another final read that covers its offset did not.",
        "All clients with the same isolation level read the same records. Without transactions "
        "both levels read the same.",
        "KIP-98, read_committed and the last stable offset; krucible: both clients read everything",
    ),
)
"""All anomalies by id."""
_SURVIVAL = (LOST_WRITE, "poll-skip", "int-poll-skip")
"""The rules by which a record has to exist."""
NEEDS = Needs(
    (Source.CLIENTS,),
    {
        "unseen": (Source.CLIENTS,),
        # Brokers log the refusals that show that the client caused a duplicate.
        "duplicate": (Source.BROKER_LOGS, Source.REFUSALS),
    },
    PERMITTED,
    # A record may be removed once a later record of its key exists, from any producer.
    of_workload={"compacted": dict.fromkeys(_SURVIVAL, (Source.CLIENTS,))},
    not_deleted=frozenset({*_SURVIVAL, "unseen", "client-disagreement"}),
)
"""The journals that the checker's rules need."""
NO_LICENCE = frozenset(("phantom", "known-gap"))
"""Ids of the anomalies that are never legal, because no event permits them."""
