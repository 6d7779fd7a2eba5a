"""Judges registers in parts; findings of one register do not depend on any other register.

`RegistersOverview` has the facts about all registers of a history; `check_part` judges some of them;
`put_together` combines all parts in one result.  Each process has one part.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import msgspec
import numpy as np

from checkers.columns.tables import Booleans
from checkers.history.operations import Operation
from checkers.registers.anomalies import KEPT
from checkers.registers.columns import SHIFT, Registers, Rows
from checkers.registers.coordinating import is_offset
from checkers.registers.findings import RegisterFindings, SeenAnomaly, find_conflicts, find_unwritten
from checkers.registers.stored_registers import (
    LoadReads,
    Milestones,
    find_in_kept,
    stale_reads,
    unread,
)
from checkers.registers.texts import RegisterTexts, shown
from checkers.registers.zones import Zones, zones_of
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly, CheckerResult, result_of

CHECKER = "registers"
"""Name of the checker, as in verdicts."""
_NAMED_MAX = 3

Losing = Callable[[Anomaly], str | None]
"""Returns the event that may have lost the committed offset of an anomaly; None if there is none."""


@dataclass(frozen=True, slots=True)
class RegistersOverview:
    """The facts about all registers of a history, collected before any is judged.

    Attributes:
        registers: number of registers.
        operations: number of operations on them that were invoked.
        swapped: why zones do not decide about some of them; None if they decide about all.
        damage: parts of the history that could not be read.
        milestones: stamps of healing and of the final phase if Kafka stores the registers; else None.
    """

    registers: int
    operations: int
    swapped: str | None
    damage: tuple[str, ...]
    milestones: Milestones | None


class RegistersResult(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of some registers to the result.

    Attributes:
        counts: exact number of anomalies per id.
        found: the earliest anomalies.
        conflicting: whether any finding shows that a register is not linearizable.
        stale: number of reads that began when their value had certainly been overwritten.
        repeated: a value that was written twice; None if there is none.
        unread: names of the first registers that were not read in the final phase.
        unread_count: number of registers that were not read in the final phase.
        compared: number of reads of committed offsets during the load that were compared with acknowledged
            commits.
        undecided: number of those that were stale and whose coordinator is unknown.
    """

    counts: dict[str, int] = {}
    found: tuple[SeenAnomaly, ...] = ()
    conflicting: bool = False
    stale: int = 0
    repeated: str | None = None
    unread: tuple[str, ...] = ()
    unread_count: int = 0
    compared: int = 0
    undecided: int = 0


def check_part(
    registers: Registers,
    operations: Sequence[Operation],
    milestones: Milestones | None,
    initial: object = None,
) -> RegistersResult:
    """Judge all registers of a history, or one share of them (`shares`).

    Args:
        registers: registers with at least one row.
        operations: all operations of the history, some of which are used in texts of findings.
        milestones: as in `RegistersOverview`.
        initial: initial value of every register.
    """
    texts = RegisterTexts(operations, registers, zones_of(registers.rows), initial)
    findings, sound = RegisterFindings(texts), _sound(texts)
    find_unwritten(findings, ~np.isin(texts.zones.key, registers.swapped))
    find_conflicts(findings, sound, stale_allowed=milestones is not None)
    conflicting = bool(findings.counts)
    names: list[str] = []
    load = LoadReads(0, 0)
    if milestones is not None:
        load = find_in_kept(findings, sound, milestones)
        names = unread(texts, milestones)
    return RegistersResult(
        counts=findings.counts,
        found=tuple(findings.found),
        conflicting=conflicting,
        stale=stale_reads(texts, sound) if conflicting else 0,
        repeated=repeated(texts),
        unread=tuple(names[:_NAMED_MAX]),
        unread_count=len(names),
        compared=load.compared,
        undecided=load.undecided,
    )


def put_together(
    overview: RegistersOverview, parts: Sequence[RegistersResult], losing: Losing
) -> CheckerResult:
    """Combine the results of all parts, in the order of their registers."""
    counts: dict[str, int] = {}
    for part in parts:
        for name, count in part.counts.items():
            counts[name] = counts.get(name, 0) + count
    anomalies = _earliest(seen for part in parts for seen in part.found)
    obstacle = next((part.repeated for part in parts if part.repeated is not None), overview.swapped)
    conflicting = any(part.conflicting for part in parts)
    doubts = [obstacle, *overview.damage]
    if overview.milestones is not None:
        anomalies = [_licensed(anomaly, losing) for anomaly in anomalies]
        doubts += [_undecided(overview.milestones, parts), _uncoordinated(parts)]
    return result_of(
        CHECKER,
        anomalies,
        counts=counts,
        figures={
            "registers": overview.registers,
            "operations": overview.operations,
            "stale_reads": sum(part.stale for part in parts),
            "offset_reads_compared": sum(part.compared for part in parts),
            "strict_linearizable": False if conflicting else None if obstacle is not None else True,
        },
        unknown_because="; ".join(doubt for doubt in doubts if doubt is not None) or None,
    )


def shares(registers: Registers, count: int) -> Iterator[Registers]:
    """Divide all registers that have rows, in order, into about `count` shares of similar size."""
    ends = np.cumsum(np.bincount(registers.rows.key, minlength=len(registers.keys)))
    fair = -(-int(ends[-1]) // count)
    cuts = np.unique(np.searchsorted(ends, np.arange(fair, int(ends[-1]), fair)) + 1)
    bounds = [0, *cuts[cuts < len(ends)].tolist(), len(ends)]
    for low, high in pairwise(bounds):
        share = _share(registers, low, high)
        if len(share.rows.key):
            yield share


def repeated(texts: RegisterTexts) -> str | None:
    """The first register to which one value was written more than once; None if there is none."""
    some = np.flatnonzero(texts.zones.writes > 1)
    if not len(some):
        return None
    zone = int(some[0])
    again = " (before the history, too)" if _is_initial(texts.zones, zone, texts.registers) else ""
    times = int(texts.zones.writes[zone])
    name, value = texts.subject(zone), texts.value(zone)
    return f"{name}: {value} was written {times} times{again}; zones need unique values"


def swapped(registers: Registers) -> str | None:
    """The first register about which zones do not decide; None if there is none."""
    if not registers.swapped:
        return None
    return f"{shown(registers.keys[registers.swapped[0]])} is changed by compare-and-set"


def _share(registers: Registers, low: int, high: int) -> Registers:
    return replace(
        registers, rows=_between(registers.rows, low, high), failed=_between(registers.failed, low, high)
    )


def _between(rows: Rows, low: int, high: int) -> Rows:
    """Rows of the registers from code `low` to below `high`."""
    mine = (rows.key >= low) & (rows.key < high)
    return replace(
        rows,
        key=rows.key[mine],
        value=rows.value[mine],
        write=rows.write[mine],
        start=rows.start[mine],
        finish=rows.finish[mine],
    )


def _sound(texts: RegisterTexts) -> Booleans:
    """Clusters with exactly one write, of registers about which zones can decide."""
    zones = texts.zones
    unfit = np.isin(zones.key, zones.key[zones.writes > 1]) | np.isin(zones.key, texts.registers.swapped)
    sound: Booleans = (zones.writes == 1) & ~unfit
    return sound


def _is_initial(zones: Zones, zone: int, registers: Registers) -> bool:
    return bool((registers.rows.start[zones.rows_of(zone)] < SHIFT).any())


def _earliest(found: Iterable[SeenAnomaly]) -> list[Anomaly]:
    """The first anomalies of each kind, by the stamp at which they were seen; registers share no stamp."""
    of_kind: dict[tuple[int, str], list[Anomaly]] = {}
    for rank, _, anomaly in sorted(found, key=lambda seen: (seen.rank, seen.stamp)):
        some = of_kind.setdefault((rank, anomaly.id), [])
        if len(some) < EXAMPLES_PER_ANOMALY:
            some.append(anomaly)
    return [anomaly for some in of_kind.values() for anomaly in some]


def _licensed(anomaly: Anomaly, losing: Losing) -> Anomaly:
    """Make the loss of a committed offset legal if its partition of the offsets topic may have lost it."""
    committed = anomaly.illegal and anomaly.id in KEPT and is_offset(anomaly.subject)
    lost = losing(anomaly) if committed else None
    return anomaly if lost is None else msgspec.structs.replace(anomaly, illegal=False, licence=lost)


def _uncoordinated(parts: Sequence[RegistersResult]) -> str | None:
    """Why stale reads of committed offsets may be legal; None if there are none, or this is known."""
    count = sum(part.undecided for part in parts)
    return (
        f"{count} reads of offsets were stale, and it is unknown which broker was the coordinator"
        if count
        else None
    )


def _undecided(milestones: Milestones, parts: Sequence[RegistersResult]) -> str | None:
    """Why a register's last value is unknown; None if every register was read in the final phase."""
    if milestones.final is None:
        return "phase final-read did not begin, so no register's last value was read"
    count = sum(part.unread_count for part in parts)
    if not count:
        return None
    named = [name for part in parts for name in part.unread][:_NAMED_MAX]
    more = f" and {count - len(named)} more" if count > len(named) else ""
    return f"the final phase has no read of {', '.join(named)}{more}"
