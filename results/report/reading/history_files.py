"""What a page shows of a history that is a single file, not a run's folder."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from checkers.foreign.records import NEMESIS
from checkers.history.operations import History
from checkers.history.units import NS_PER_S
from checkers.verdict.verdict import Verdict
from results.markup.cleaning import clean
from results.report.reading.calls import OUTCOMES, CallColumns

_NAME_MAX = 60


class HistoryFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file whose history was judged.

    Attributes:
        path: as the user named it.
        workload: the meaning of its operations.
        model: what they were checked against; None if the workload implies it.
        lines: for each operation, its line in the file, from 1.
        outcomes: number of calls by function and outcome, if the file has others than the history: its import
            may have split or decided them.
        processes: number of processes of clients; together with `outcomes`.
        timed: whether every operation has a time; if not, a page shows only their order.
        warnings: unusual parts of the file, and how they were interpreted.
    """

    path: str
    workload: str
    model: str | None = None
    lines: Sequence[int] = ()
    outcomes: Mapping[str, Mapping[str, int]] | None = None
    processes: int | None = None
    timed: bool = True
    warnings: tuple[str, ...] = ()


def in_order(history: History, verdict: Verdict) -> tuple[History, Verdict]:
    """Replace all times by positions: one second for each operation.

    The times of a history that recorded none are those that its import gave to it.  They increase with the
    position.
    """
    times = [operation.time_ns for operation in history.operations]
    operations = [
        msgspec.structs.replace(operation, time_ns=position * NS_PER_S)
        for position, operation in enumerate(history.operations)
    ]

    def placed(time_ns: int | None) -> int | None:
        return None if time_ns is None else bisect_left(times, time_ns) * NS_PER_S

    results = [
        msgspec.structs.replace(
            result,
            anomalies=tuple(
                msgspec.structs.replace(anomaly, time_ns=placed(anomaly.time_ns))
                for anomaly in result.anomalies
            ),
        )
        for result in verdict.results
    ]
    return (
        msgspec.structs.replace(history, operations=tuple(operations)),
        msgspec.structs.replace(verdict, results=tuple(results)),
    )


def outcome_lines(file: HistoryFile, calls: CallColumns, most: int) -> tuple[str, ...]:
    """The number of calls without those of the nemesis, then the outcomes of each function.

    Args:
        file: the file; if it has no counts, the calls are counted.
        calls: the calls of the history.
        most: maximum number of functions.
    """
    outcomes, processes = file.outcomes, file.processes
    if outcomes is None or processes is None:
        outcomes, processes = _counted(calls)
    total = sum(sum(counts.values()) for name, counts in outcomes.items() if name != NEMESIS)
    lines = [f"{total:,} operations of {processes:,} processes"]
    for name, counts in list(outcomes.items())[:most]:
        by_outcome = (
            f"{counts[outcome]:,} {_WORDS.get(outcome, outcome)}"
            for outcome in OUTCOMES
            if counts.get(outcome)
        )
        lines.append(f"{clean(name, _NAME_MAX)}: {', '.join(by_outcome)}")
    if (more := len(outcomes) - most) > 0:
        lines.append(f"{more:,} more functions")
    return tuple(lines)


def _counted(calls: CallColumns) -> tuple[dict[str, dict[str, int]], int]:
    """Outcomes by function, and the number of processes that are not the nemesis."""
    counts = Counter(zip(calls.f.tolist(), calls.outcome.tolist(), strict=True))
    own = [code for code, name in enumerate(calls.names) if name != NEMESIS]
    outcomes = {
        name: {outcome: counts[code, number] for number, outcome in enumerate(OUTCOMES)}
        for code, name in enumerate(calls.names)
    }
    return outcomes, np.unique(calls.process[np.isin(calls.f, own)]).size


_WORDS = {"open": "never ended"}
