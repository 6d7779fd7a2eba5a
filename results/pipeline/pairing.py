"""Pairs invocations with their completions, once for all tables of a run."""

from dataclasses import dataclass

import numpy as np

from checkers.columns import NONE, Integers
from checkers.history import History, OperationType
from checkers.shapes import is_observation


@dataclass(frozen=True, slots=True)
class Paired:
    """A history's operations as arrays, one element an operation.

    Attributes:
        time_ns: when it was recorded.
        process: code of its process.
        processes: their names by code.
        invocation: index of the invocation that it completes; its own where it is one; `NONE` for
            observations.
        completion: index of the completion of an invocation; `NONE` without one.
    """

    time_ns: Integers
    process: Integers
    processes: tuple[str, ...]
    invocation: Integers
    completion: Integers

    @property
    def invocations(self) -> Integers:
        """Indices of all invocations, in order."""
        return np.flatnonzero(self.invocation == np.arange(len(self.invocation)))


def pair(history: History) -> Paired:
    """Pair a history that `checkers.reading.read_history` returned: nobody has two operations outstanding."""
    size = len(history.operations)
    invocation, completion = np.full(size, NONE), np.full(size, NONE)
    outstanding: dict[int | str, int] = {}
    codes: dict[int | str, int] = {}
    for index, operation in enumerate(history.operations):
        process = operation.process
        codes.setdefault(process, len(codes))
        if operation.type is OperationType.INVOKE:
            outstanding[process] = invocation[index] = index
        elif not is_observation(operation):
            invoked = invocation[index] = outstanding.pop(process)
            completion[invoked] = index
    return Paired(
        time_ns=np.fromiter((o.time_ns for o in history.operations), np.int64, size),
        process=np.fromiter((codes[o.process] for o in history.operations), np.int64, size),
        processes=tuple(map(str, codes)),
        invocation=invocation,
        completion=completion,
    )
