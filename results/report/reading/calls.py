"""Pairs invocations with completions, so that an operation can be drawn with its duration."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.history.operations import History, Operation, OperationType

Numbers = npt.NDArray[np.int64]
OUTCOMES = ("ok", "info", "fail", "open")
"""Outcomes of calls, in the order of their codes; an ``open`` call did not end before the history did."""
OPEN = OUTCOMES.index("open")
NONE = -1
"""Index of a missing invocation or completion."""


class CallColumns(NamedTuple):
    """Columns, one entry per call, in the order of their ends; open calls come last.

    Attributes:
        process: position in `processes`.
        f: position in `names`.
        began_ns: start of a call; for observations, the start of the request, if recorded.
        ended_ns: end of a call; the history's end if it is open.
        outcome: position in `OUTCOMES`.
        invoked: index of the invocation, or `NONE`.
        completed: index of the completion, or `NONE`.
    """

    process: Numbers
    f: Numbers
    began_ns: Numbers
    ended_ns: Numbers
    outcome: Numbers
    invoked: Numbers
    completed: Numbers
    processes: tuple[int | str, ...]
    names: tuple[str, ...]


def calls_of(history: History) -> CallColumns:
    """All calls of a history; a process that invokes again leaves its earlier call open."""
    rows: list[tuple[int, ...]] = []
    processes: dict[int | str, int] = {}
    names: dict[str, int] = {}
    outstanding: dict[int | str, tuple[int, Operation]] = {}
    abandoned: list[tuple[int, Operation]] = []
    for index, operation in enumerate(history.operations):
        process = processes.setdefault(operation.process, len(processes))
        name = names.setdefault(operation.f, len(names))
        begun = outstanding.pop(operation.process, None)
        if operation.type is OperationType.INVOKE:
            outstanding[operation.process] = index, operation
            abandoned += [begun] if begun is not None else []
            continue
        if begun is not None and begun[1].f != operation.f:
            outstanding[operation.process], begun = begun, None
        invoked, began_ns = (NONE, _asked_ns(operation)) if begun is None else (begun[0], begun[1].time_ns)
        outcome = OUTCOMES.index(operation.type.value)
        rows.append((process, name, began_ns, operation.time_ns, outcome, invoked, index))
    end_ns = history.operations[-1].time_ns if history.operations else 0
    for index, left in (*abandoned, *outstanding.values()):
        place = processes[left.process], names[left.f]
        rows.append((*place, left.time_ns, max(end_ns, left.time_ns), OPEN, index, NONE))
    # The times of a foreign history may be any number; a report can draw those that fit into 64 bits.
    columns = np.array([_bounded(row) for row in rows], dtype=np.int64).reshape(-1, 7).T
    process_codes, f, began, ended, outcomes, invocations, completions = columns
    return CallColumns(
        process=process_codes,
        f=f,
        began_ns=began,
        ended_ns=ended,
        outcome=outcomes,
        invoked=invocations,
        completed=completions,
        processes=tuple(processes),
        names=tuple(names),
    )


def _asked_ns(operation: Operation) -> int:
    """When an observer began its request, if it is recorded."""
    began_ns = operation.value.get("began_ns") if isinstance(operation.value, dict) else None
    good = isinstance(began_ns, int) and 0 <= began_ns <= operation.time_ns
    return began_ns if good else operation.time_ns  # type: ignore[return-value]  # `good` implies an int


def _bounded(row: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(min(max(number, NONE), 2**62) for number in row)
