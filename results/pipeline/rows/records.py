"""The rows of the table `records`: all records that were sent, and all that were returned."""

import msgspec
import numpy as np
import pyarrow as pa

from checkers.columns.tables import NEVER, NONE, Columns, Integers, SendOutcome
from checkers.history.operations import History
from results.pipeline.rows.columnar import Array, assembled, booleans, named, numbers
from results.pipeline.rows.pairing import Paired

_KINDS = ("send", "read", "final-read")
_OUTCOMES = {
    SendOutcome.OK: "ok",
    SendOutcome.FAIL: "fail",
    SendOutcome.INFO: "info",
    SendOutcome.ABORTED: "fail",
}


def records_of(history: History, columns: Columns, paired: Paired) -> pa.Table:
    """Rows of the table `records`: one for each record sent, then one for each record returned.

    Both are in the order of `columns`; a record that was sent and returned twice has three rows.
    """
    return pa.concat_tables([_sent(history.run, columns, paired), _returned(history, columns, paired)])


def _sent(run: str, columns: Columns, paired: Paired) -> pa.Table:
    sends = columns.sends
    size = len(sends.value)
    return assembled(
        "records",
        run,
        {
            "op_index": numbers(sends.invoke_op),
            "kind": named(np.zeros(size, np.int64), _KINDS),
            **_places(columns, sends.partition, sends.offset, sends.value),
            "outcome": named(sends.outcome, [_OUTCOMES[outcome] for outcome in SendOutcome]),
            "process": named(paired.process[sends.invoke_op], paired.processes),
            "reader": pa.nulls(size, pa.string()),
            "invoked_ns": numbers(sends.invoked_ns),
            "completed_ns": numbers(sends.completed_ns, NEVER),
            "position": numbers(_positions(sends.invoke_op)),
            "transactional": booleans(sends.transactional),
        },
    )


def _returned(history: History, columns: Columns, paired: Paired) -> pa.Table:
    reads, calls = columns.reads, columns.calls
    call = reads.call
    transactional = np.fromiter((history.operations[op].f == "txn" for op in calls.op.tolist()), np.bool_)
    return assembled(
        "records",
        history.run,
        {
            "op_index": numbers(paired.invocation[calls.op][call]),
            "kind": named(np.where(calls.final, 2, 1)[call], _KINDS),
            **_places(columns, reads.partition, reads.offset, reads.value),
            "outcome": pa.nulls(len(call), pa.string()),
            "process": named(paired.process[calls.op][call], paired.processes),
            "reader": named(calls.reader[call], [f"{r.client}/{r.isolation}" for r in columns.readers]),
            "invoked_ns": numbers(calls.invoked_ns[call]),
            "completed_ns": numbers(calls.completed_ns[call]),
            "position": numbers(_positions(call)),
            "transactional": booleans(transactional[call]),
        },
    )


def _places(columns: Columns, partition: Integers, offset: Integers, value: Integers) -> dict[str, Array]:
    """Position and value of records; a value that krucible never sends is a text."""
    topics = {topic: code for code, topic in enumerate(dict.fromkeys(p.topic for p in columns.partitions))}
    topic_of = np.array([topics[name.topic] for name in columns.partitions], np.int64)
    number_of = np.array([name.partition for name in columns.partitions], np.int64)
    others = [msgspec.json.encode(other).decode() for other in columns.others]
    return {
        "topic": named(topic_of[partition], list(topics)),
        "partition": numbers(number_of[partition]),
        "offset": numbers(offset),
        "value": pa.array(value, mask=value < 0),
        "text": named(np.where(value < 0, -1 - value, NONE), others),
    }


def _positions(group: Integers) -> Integers:
    """Position of each row, from 0, among consecutive rows of the same group."""
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1])) if len(group) else group
    place: Integers = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    return place
