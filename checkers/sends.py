"""Sends as columns of times: which records were acknowledged where and when, and when sending began."""

from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.history import History, Operation, OperationType
from checkers.shapes import is_answered

Integers = npt.NDArray[np.int64]


class Acknowledged(NamedTuple):
    """Records whose send completed with ``ok``; arrays of one shape, one element a record.

    Attributes:
        topics: names that `topic` points into.
        topic: place of the record's topic in `topics`.
        partition: its partition.
        time_ns: when its send completed; ascending.
    """

    topics: tuple[str, ...]
    topic: Integers
    partition: Integers
    time_ns: Integers


def acknowledged(history: History) -> Acknowledged:
    """All acknowledged records, in order of completion; loops over operations, never over records.

    A batch that ended ``fail`` or ``info`` counts with those of its records that were acknowledged.
    """
    ended = [o for o in history.operations if o.f == "send" and o.type is not OperationType.INVOKE]
    answered = [operation for operation in ended if is_answered(operation.value)]
    codes = {name: code for code, name in enumerate({operation.key: None for operation in answered})}
    sizes = _sizes(answered)
    records = list(chain.from_iterable(operation.value for operation in answered))
    ok = np.fromiter(map("ok".__eq__, map(itemgetter(3), records)), np.bool_, len(records))
    partition = np.fromiter(map(itemgetter(0), records), np.int64, len(records))
    topic = np.repeat(_integers(codes[operation.key] for operation in answered), sizes)
    time_ns = np.repeat(_integers(operation.time_ns for operation in answered), sizes)
    return Acknowledged(tuple(codes), topic[ok], partition[ok], time_ns[ok])


def invoked_ns(history: History) -> Integers:
    """When the sending of each record began, acknowledged or not; ascending, one element a record."""
    begun = [o for o in history.operations if o.f == "send" and o.type is OperationType.INVOKE]
    return np.repeat(_integers(operation.time_ns for operation in begun), _sizes(begun))


def _sizes(operations: list[Operation]) -> Integers:
    return _integers(len(operation.value) for operation in operations)


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, np.int64)
