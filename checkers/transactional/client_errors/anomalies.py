"""Errors that Kafka promises not to give a client that did nothing wrong."""

from checkers.verdict.kinds import AnomalyKind, by_id

SEQUENCE_LOST = AnomalyKind(
    id="sequence-lost",
    meaning="An idempotent producer whose records had been acknowledged was told that one before is missing.",
    guarantee="The leader of a partition knows the sequence of every batch that it acknowledged to an "
    "idempotent producer; an out of order sequence number means that data may have been lost.",
    source="KIP-98, KIP-360; org.apache.kafka.common.errors.OutOfOrderSequenceException, "
    "UnknownProducerIdException",
)
FENCED_WITHOUT_RIVAL = AnomalyKind(
    id="fenced-without-rival",
    meaning="A transactional producer was fenced although nobody else had initialised its transactional id.",
    guarantee="The coordinator raises a producer's epoch when somebody initialises its transactional id, "
    "when a transaction exceeds its timeout, and for nothing else that a client does not ask for.",
    source="KIP-98 (Transaction Coordinator), KIP-890; "
    "org.apache.kafka.common.errors.ProducerFencedException",
)
TRANSACTION_FORGOTTEN = AnomalyKind(
    id="transaction-forgotten",
    meaning="The coordinator knew nothing of a transaction that was under way, or not of its producer.",
    guarantee="A transaction whose records were acknowledged stays under way until it is ended, times out, "
    "or its producer is fenced.",
    source="KIP-98 (Transaction Coordinator), KIP-890; org.apache.kafka.common.errors."
    "InvalidTxnStateException, InvalidPidMappingException",
)
ANOMALIES = by_id(SEQUENCE_LOST, FENCED_WITHOUT_RIVAL, TRANSACTION_FORGOTTEN)
