"""Pairs invocations with their completions, once for all tables of a run."""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from checkers.columns.tables import NONE, Integers
from checkers.history.operations import INVOKE, History
from checkers.history.runner import OBSERVATIONS


@dataclass(frozen=True, slots=True)
class Paired:
    """A history's operations as arrays, one element per operation.

    Attributes:
        time_ns: when the operation was recorded.
        process: code of the process.
        processes: names of processes by code.
        invocation: index of the invocation that it completes; its own index if it is an invocation; `NONE`
            for observations.
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
    """Pair a history of `checkers.history.reading`, in which no process has two outstanding operations."""
    operations = history.operations
    processes = list(map(attrgetter("process"), operations))
    codes = {process: code for code, process in enumerate(dict.fromkeys(processes))}
    # Lists, because access to an element of an array takes five times as long.
    invocation, completion = [NONE] * len(operations), [NONE] * len(operations)
    outstanding: dict[int | str, int] = {}
    for index, operation in enumerate(operations):
        if operation.type is INVOKE:
            outstanding[operation.process] = invocation[index] = index
        elif operation.f not in OBSERVATIONS:
            invoked = invocation[index] = outstanding.pop(operation.process)
            completion[invoked] = index
    return Paired(
        time_ns=np.array(list(map(attrgetter("time_ns"), operations)), np.int64),
        process=np.array(list(map(codes.__getitem__, processes)), np.int64),
        processes=tuple(map(str, codes)),
        invocation=np.array(invocation, np.int64),
        completion=np.array(completion, np.int64),
    )
