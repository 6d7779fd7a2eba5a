"""Records that read_committed readers received before the commit was requested.

Two times of one clock are compared: the completion of a poll, by which it had returned, and ``ending_ns`` of
the transaction (docs/histories.md), after which the commit was requested.
"""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers, SendOutcome
from checkers.history.units import NS_PER_MS
from checkers.transactional.transactions.kafka.edges import KafkaStory
from checkers.transactional.transactions.kafka.records import KafkaTransactions
from checkers.transactional.transactions.models.anomalies import ANOMALIES
from checkers.transactional.transactions.operations.coding import Index
from checkers.transactional.transactions.proofs.judging import NAME_CHARACTERS
from checkers.verdict.verdict import Anomaly


def compared(kafka: KafkaTransactions) -> Integers:
    """Rows of `Columns.sends` whose readers and time of the commit request are both known.

    Records of failed transactions are left out, because no reader may receive them at any time (G1a).  Values
    that were sent more than once are left out too, because any of their attempts may have been read.
    """
    sends = kafka.columns.sends
    known = sends.transactional & kafka.seen & np.isin(sends.outcome, (SendOutcome.OK, SendOutcome.INFO))
    index = Index(sends.partition, sends.value)
    again = index.repeated
    known[again] = known[index.find(sends.partition[again], sends.value[again])] = False
    rows: Integers = np.flatnonzero(known)
    timed: Booleans = kafka.ending_ns[kafka.node_of_send[rows]] != NONE
    return np.compress(timed, rows)


def precommitted_reads(kafka: KafkaTransactions, story: KafkaStory) -> Iterator[Anomaly]:
    """One finding for each transaction, for its record that was returned first."""
    rows = compared(kafka)
    returned_ns = _returned_ns(kafka)[rows]
    nodes = kafka.node_of_send[rows]
    early = np.flatnonzero(returned_ns < kafka.ending_ns[nodes])
    early = early[np.lexsort((returned_ns[early], nodes[early]))]
    _, first = np.unique(nodes[early], return_index=True)
    for row in rows[early[first]].tolist():
        yield _anomaly(kafka, story, row)


def _returned_ns(kafka: KafkaTransactions) -> Integers:
    """For each send, the time when the first read_committed reader had received it."""
    columns = kafka.columns
    times: Integers = np.append(columns.calls.completed_ns[columns.reads.call], NEVER)[kafka.read]
    return times


def _anomaly(kafka: KafkaTransactions, story: KafkaStory, row: int) -> Anomaly:
    columns = kafka.columns
    node, read = int(kafka.node_of_send[row]), int(kafka.read[row])
    call = int(columns.reads.call[read])
    returned_ns, asked_ns = int(columns.calls.completed_ns[call]), int(kafka.ending_ns[node])
    place = f"{kafka.partition(int(columns.reads.partition[read]))}@{int(columns.reads.offset[read])}"
    reader = columns.readers[int(columns.calls.reader[call])]
    value, at = columns.value_named(int(columns.sends.value[row])), int(columns.calls.op[call])
    early_ms = (asked_ns - returned_ns) / NS_PER_MS
    return ANOMALIES["precommitted-read"].found(
        f"{reader} received {value} ({place}) {early_ms:.1f} ms before the commit of its "
        "transaction was requested",
        subject=place,
        time_ns=returned_ns,
        witness=sorted((*story.operations(node), at)),
        explanation=(
            f"T = {story.transaction(node)[:NAME_CHARACTERS]}",
            f"Operation {at} had returned {value} at {returned_ns} ns.",
            f"The end of T was not requested before {asked_ns} ns, so it was undecided.",
        ),
    )
