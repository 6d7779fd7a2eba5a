"""The anomalies of an application of Kafka Streams that counts records exactly once."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

_ONCE = (
    "With exactly_once_v2 output, changes of stores and the group's offsets are committed together or not at "
    "all, so that each record is processed exactly once."
)
_SOURCE = "KIP-129, KIP-447, KIP-1071"

DUPLICATED = AnomalyKind(
    "streams-duplicated",
    "Several committed records of the output stand for one record of the input.",
    _ONCE,
    _SOURCE,
)
LOST = AnomalyKind(
    "streams-lost",
    "A record of the input has no committed output, and the group has gone past it.",
    _ONCE,
    _SOURCE,
)
WITHOUT_OFFSETS = AnomalyKind(
    "streams-without-offsets",
    "A record of the output is committed, and the group's offset, which its transaction also committed, is "
    "not past the record of the input.",
    _ONCE,
    _SOURCE,
)
COUNT_WRONG = AnomalyKind(
    "streams-count-wrong",
    "A count in the output is not the number of records of the key up to that record of the input.",
    "A task continues with the store as of its last committed transaction, restored from the changelog.",
    "KIP-129, KIP-447; Kafka Streams documentation, Architecture, Fault Tolerance",
)
INVENTED = AnomalyKind(
    "streams-invented",
    "A record of the output stands for no record of the input, or has another key or value.",
    "An application processes records that are in its input, with their keys and values.",
    "Kafka Streams documentation, Core Concepts, Processing Guarantees",
)
REORDERED = AnomalyKind(
    "streams-reordered",
    "In a partition of the output, records of one partition of the input are in another order.",
    "A task processes a partition in the order of its offsets, and transactions of its members follow each "
    "other.",
    "Kafka Streams documentation, Core Concepts, Out-of-Order Handling; KIP-447",
)
MISPLACED = AnomalyKind(
    "streams-misplaced",
    "A record of the output is in another partition than the one that the partitioner chose, which is that "
    "of the input.",
    "A record of the output is in the partition that the partitioner of the sink returns for it.",
    "Kafka Streams documentation, Processor API, Topology.addSink; StreamPartitioner",
)

ANOMALIES = by_id(DUPLICATED, LOST, WITHOUT_OFFSETS, COUNT_WRONG, INVENTED, REORDERED, MISPLACED)
"""All anomalies, by id."""
NEEDS = Needs(
    (Source.CLIENTS,),
    dict.fromkeys(ANOMALIES, (Source.CLIENTS,)),
    PERMITTED,
    frozenset({"streams"}),
)
"""The journals that the checker's rules need."""
