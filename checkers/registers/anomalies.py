"""The anomalies of the registers checker; the first three can occur in every history of registers."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

NONLINEARIZABLE = AnomalyKind(
    id="nonlinearizable",
    meaning="No order of the operations agrees with both real time and the object's rules.",
    guarantee=(
        "Every operation appears to take effect at one moment between its invocation and its completion, "
        "and the object's rules hold in the order of these moments."
    ),
    source="Herlihy and Wing, Linearizability: A Correctness Condition for Concurrent Objects, 1990",
)
PHANTOM = AnomalyKind(
    id="phantom",
    meaning="A read of a register returned a value that was never written.",
    guarantee="A register has its initial value or a value that was written to it.",
    source="Gibbons and Korach, Testing Shared Memories (1997), section 4; Jepsen: garbage read",
)
ABORTED_READ = AnomalyKind(
    id="G1a",
    meaning="A read of a register returned a value whose write had failed.",
    guarantee="A write that failed never takes effect.",
    source="Adya, Weak Consistency (1999), G1a aborted read; docs/histories.md, write",
)
LOST_VALUE = AnomalyKind(
    id="lost-value",
    meaning="After recovery a register had an older value than the one whose write had been acknowledged.",
    guarantee="An acknowledged write of a register is kept until another one replaces it.",
    source="Kafka documentation, Design, Consumer offset tracking; KIP-500; Jepsen: lost update",
)
NONMONOTONIC_AFTER_HEAL = AnomalyKind(
    id="nonmonotonic-after-heal",
    meaning="After recovery a read of a register returned a value that was overwritten before "
    "recovery began.",
    guarantee="Once the cluster has recovered, a register does not go back to a value that was overwritten.",
    source="KIP-500, metadata is applied in the order of its log; Terry et al., Session Guarantees (1994)",
)
STALE_OFFSET = AnomalyKind(
    id="stale-offset",
    meaning="A read of a group's committed offset returned an old one, and no election explains it.",
    guarantee="Only the coordinator of a group answers, and it returns the last committed offset.",
    source="Kafka protocol, OffsetFetch and NOT_COORDINATOR; Kafka documentation, Design, Consumer offset "
    "tracking; KAFKA-19274; KAFKA-20634",
)
KEPT = by_id(LOST_VALUE, NONMONOTONIC_AFTER_HEAL, STALE_OFFSET)
"""The anomalies of registers that Kafka stores."""
ANOMALIES = by_id(NONLINEARIZABLE, PHANTOM, ABORTED_READ, *KEPT.values())
"""All anomalies by id."""
NEEDS = Needs(
    (Source.CLIENTS,),
    {"stale-offset": (Source.QUORUM,)},
    PERMITTED,
    frozenset({"offsets", "metadata"}),
)
"""The journals that the checker's rules need."""
