"""The rows of the table `operations`: invocations with their outcomes."""

from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from checkers.columns.tables import NONE, Columns, Integers, SendOutcome
from checkers.history.operations import History, OperationType
from results.pipeline.rows.columnar import assembled, named, numbers, texts
from results.pipeline.rows.pairing import Paired

_ENDS = (OperationType.OK, OperationType.FAIL, OperationType.INFO)
_OPEN = len(_ENDS)
_CODES = {end: code for code, end in enumerate(_ENDS)}


def operations_of(history: History, columns: Columns, paired: Paired) -> pa.Table:
    """Rows of the table `operations`: one for each invocation, in the order of the history.

    Args:
        history: the history.
        columns: its records as columns; they give the number of records of each operation.
        paired: its invocations with their completions; one without a completion has the type `open`.
    """
    operations = history.operations
    index = paired.invocations
    complete = paired.completion[index]
    invoked = [operations[at] for at in index.tolist()]
    completed = [None if at == NONE else operations[at] for at in complete.tolist()]
    began_ns = paired.time_ns[index]
    ended_ns = np.where(complete == NONE, NONE, paired.time_ns[complete])
    sends, acked, returned = (count[index] for count in _counts(columns, paired))
    types = np.array([_OPEN if end is None else _CODES[end.type] for end in completed], np.int64)
    return assembled(
        "operations",
        history.run,
        {
            "index": numbers(index),
            "process": named(paired.process[index], paired.processes),
            "f": texts(operation.f for operation in invoked),
            "key": texts(text_of(operation.key) for operation in invoked),
            "node": texts(operation.node for operation in invoked),
            "invoked_ns": numbers(began_ns),
            "completed_ns": numbers(ended_ns),
            "latency_ns": numbers(np.where(complete == NONE, NONE, ended_ns - began_ns)),
            "type": named(types, [*_ENDS, "open"]),
            "error": texts(None if end is None else end.error for end in completed),
            "sends": numbers(sends),
            "acked": numbers(acked),
            "returned": numbers(returned),
            "records": numbers(np.maximum(1, sends + returned)),
        },
    )


class _Counts(NamedTuple):
    """Number of records that each operation sent, that were acknowledged, and that it returned."""

    sent: Integers
    acknowledged: Integers
    returned: Integers


def _counts(columns: Columns, paired: Paired) -> _Counts:
    size = len(paired.time_ns)
    sends, calls = columns.sends, columns.calls
    acked = sends.invoke_op[sends.outcome == SendOutcome.OK]
    returned = paired.invocation[calls.op[columns.reads.call]]
    sent, acknowledged, read = (
        np.bincount(ops, minlength=size) for ops in (sends.invoke_op, acked, returned)
    )
    return _Counts(sent, acknowledged, read)


def text_of(key: object) -> str | None:
    """A key as text; JSON unless it is a text; null stays null."""
    return key if key is None or isinstance(key, str) else msgspec.json.encode(key).decode()
