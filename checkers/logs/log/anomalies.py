"""The anomalies of the log checker, with the promise that each breaks and the source of that promise."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs


def _broken(identity: str, guarantee: str, source: str) -> AnomalyKind:
    return AnomalyKind(identity, f"Broken: {guarantee}", guarantee, source)


ANOMALIES = by_id(
    _broken(
        "lost-write",
        "A record that was acknowledged with acks=all, or returned to a consumer, stays in the log "
        "as long as one in-sync replica keeps its disk. Records of a committed transaction stay "
        "visible.",
        "Kafka documentation, Design, Replication; KIP-966; Jepsen: lost write",
    ),
    _broken(
        "known-gap",
        "A record that was acknowledged with acks=all stays in the log while fewer than "
        "min.insync.replicas copies of it are destroyed. Without eligible leader replicas Kafka is "
        "known to break this if the last in-sync replica loses its disk.",
        "KIP-966, the last replica standing; krucible: never a pass",
    ),
    _broken(
        "duplicate",
        "A record of an idempotent producer is in the log once, also if the producer retries.",
        "KIP-98, idempotent producer; Jepsen: duplicate",
    ),
    _broken(
        "inconsistent-offsets",
        "An offset identifies the same record of a partition for every reader at all times.",
        "Kafka documentation, Introduction, Topics and partitions; Jepsen: inconsistent offsets",
    ),
    _broken(
        "phantom",
        "A log contains only records that producers sent to that partition.",
        "Kafka documentation, Design, Message delivery semantics; Jepsen: garbage read",
    ),
    _broken(
        "G1a",
        "A record whose send definitely failed is never returned. A record of an aborted "
        "transaction is not returned to read_committed readers.",
        "Adya, Weak Consistency (1999), G1a aborted read; KIP-98",
    ),
    _broken(
        "poll-skip",
        "A consumer that keeps its assignment gets every committed record in offset order.",
        "Kafka documentation, Design, Consumer position; Jepsen: poll skip",
    ),
    _broken(
        "int-poll-skip",
        "The records of one poll skip no committed record.",
        "Kafka documentation, Design, Consumer position; Jepsen: internal poll skip",
    ),
    _broken(
        "nonmonotonic-poll",
        "A consumer's position only moves forward until its next assignment.",
        "Kafka documentation, Design, Consumer position; Jepsen: nonmonotonic poll",
    ),
    _broken(
        "int-nonmonotonic-poll",
        "The records of one poll are in offset order.",
        "Kafka documentation, Introduction, Guarantees; Jepsen: internal nonmonotonic poll",
    ),
    _broken(
        "nonmonotonic-send",
        "Records that one producer sends to a partition are appended in the order in which they are sent.",
        "Kafka documentation, Introduction, Guarantees; Jepsen: nonmonotonic send",
    ),
    _broken(
        "int-nonmonotonic-send",
        "Records that an idempotent producer sends in one batch are appended in the order of the batch.",
        "KIP-98, idempotent producer; Jepsen: internal nonmonotonic send",
    ),
    _broken(
        "realtime-order",
        "A record is appended after every record that was known to be in the log before its send began.",
        "Kafka documentation, Design, Replicated logs; Herlihy and Wing, Linearizability (1990)",
    ),
    _broken(
        "unseen",
        "An acknowledged record can be read.",
        "Jepsen: unseen",
    ),
    _broken(
        "client-disagreement",
        "All clients with the same isolation level read the same records. Without transactions "
        "both levels read the same.",
        "KIP-98, read_committed and the last stable offset; krucible: both clients read everything",
    ),
)
"""All anomalies by id."""
_SURVIVAL = ("lost-write", "poll-skip", "int-poll-skip")
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
