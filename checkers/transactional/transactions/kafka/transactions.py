"""Judges Kafka's own transactions.

Kafka's readers take part in no transaction, so most of Adya's anomalies are reported as legal: G0, G1c with a
ww edge, G-single, G-nonadjacent and G2-item.  The following are illegal:

1. ``G1c`` with only wr edges: two transactions that each received the other's committed records, or one that
   received its own before its commit;
2. ``torn-transaction`` and ``hanging-transaction`` (`kafka.visibility`);
3. ``zombie-accepted`` (`kafka.fencing`);
4. ``producer-epoch-given-again`` (`kafka.epochs`);
5. ``precommitted-read`` (`kafka.precommitted`).

The log checker judges anomalies of single records (aborted reads, lost writes, duplicates, phantoms).
"""

from collections.abc import Iterable, Iterator

import numpy as np

from checkers.columns.tables import NONE
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.history.operations import History
from checkers.history.sources import unassigned_damage
from checkers.licences.missed_markers import MISSED
from checkers.transactional.transactions.kafka.edges import KafkaStory, flow_of, graph_of, own_records
from checkers.transactional.transactions.kafka.epochs import epochs_given_again, given_epochs
from checkers.transactional.transactions.kafka.excuses import excused
from checkers.transactional.transactions.kafka.fencing import zombies
from checkers.transactional.transactions.kafka.precommitted import compared, precommitted_reads
from checkers.transactional.transactions.kafka.records import (
    KafkaTransactions,
    has_transactions,
    kafka_transactions_of,
)
from checkers.transactional.transactions.kafka.visibility import hanging_transactions, torn_transactions
from checkers.transactional.transactions.models.anomalies import ANOMALIES, NEEDS
from checkers.transactional.transactions.proofs.judging import NAME_CHARACTERS, GraphResult, judge_edges
from checkers.transactional.transactions.proofs.words import drawings
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, CheckerResult, OpenAnomaly, result_of

CHECKER = "transactions"
"""Name of the checker, as in verdicts."""


def check_transactions(history: History) -> CheckerResult:
    """Judge the transactions of a Kafka history; a history without transactions is valid.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    if not has_transactions(history):
        return result_of(CHECKER, [], figures={"transactions": 0}, exercised=False)
    kafka = kafka_transactions_of(history)
    graph, flow = graph_of(kafka), flow_of(kafka)
    story = KafkaStory(kafka, graph)
    observed = judge_edges(graph, story, lambda _: False)
    circular = judge_edges(flow, KafkaStory(kafka, flow), lambda identity: identity == "G1c")
    others = [
        *torn_transactions(kafka, story, history),
        *hanging_transactions(kafka, history),
    ]
    others += [*zombies(kafka, story), *precommitted_reads(kafka, story), *_early(kafka, story)]
    others = list(excused(history, [*others, *epochs_given_again(history)]))
    # The flow is judged more strictly: a cycle in it is illegal.
    known = {anomaly.witness for anomaly in circular.anomalies}
    legal = [anomaly for anomaly in observed.anomalies if anomaly.witness not in known]
    counts = _counts([observed, circular], others)
    counts |= {"G1c": counts["G1c"] - len(observed.anomalies) + len(legal)} if known else {}
    return result_of(
        CHECKER,
        [*legal, *circular.anomalies, *others],
        counts=counts,
        figures={
            "transactions": _number(kafka),
            "records": len(kafka.columns.sends.value),
            "ends_timed": int((kafka.ending_ns != NONE).sum()),
            "reads_timed": len(compared(kafka)),
            "epochs_given": len(given_epochs(history)),
            **observed.figures,
            "cycles": drawings(circular.drawn + observed.drawn),
        },
        unknown_because="; ".join(_doubts(kafka)) or None,
        open_anomalies=[*_open(others)],
    )


def _open(found: Iterable[Anomaly]) -> Iterator[OpenAnomaly]:
    """The findings that an event may explain, with this event; it is unknown whether it does."""
    for anomaly in found:
        text = anomaly.licence
        if text and (TRANSACTIONS_TOPIC in text or MISSED in text):
            yield OpenAnomaly(anomaly.id, text)


def _doubts(kafka: KafkaTransactions) -> Iterator[str]:
    yield from unassigned_damage(kafka.history)
    yield from kafka.operations.malformed


def _early(kafka: KafkaTransactions, story: KafkaStory) -> Iterator[Anomaly]:
    """Transactions that received one of their own records at read_committed, one anomaly each."""
    rows = own_records(kafka)
    nodes, first = np.unique(kafka.given.node[rows], return_index=True)
    for node, row in zip(nodes.tolist(), rows[first].tolist(), strict=True):
        where = f"{kafka.partition(int(kafka.given.partition[row]))}@{int(kafka.given.offset[row])}"
        yield ANOMALIES["G1c"].found(
            f"a transaction received its own record at {where} as a committed one before it committed",
            subject=where,
            time_ns=story.time_ns(node),
            witness=story.operations(node),
            explanation=(
                f"T = {story.transaction(node)[:NAME_CHARACTERS]}",
                f"T sent the record at {where} and received it at read_committed.",
                "A transaction requests its commit after all its sends and polls.",
            ),
        )


def _number(kafka: KafkaTransactions) -> int:
    return sum("mops" in value for value in kafka.operations.values)


def _counts(judged: list[GraphResult], others: list[Anomaly]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in judged:
        for identity, times in each.counts.items():
            counts[identity] = counts.get(identity, 0) + times
    for anomaly in others:
        counts[anomaly.id] = counts.get(anomaly.id, 0) + 1
    return counts


ENTRY = Entry(CHECKER, check_transactions, ANOMALIES, NEEDS)
