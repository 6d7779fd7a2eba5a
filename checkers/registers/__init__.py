"""Judges registers whose written values are unique: are they linearizable?

Operations are *write* and *read* of docs/histories.md.  Real time is the order of the history: an operation
precedes another if its completion stands before the other's invocation.

1. Reads of what nobody wrote are ``phantom``, of what a failed write wrote ``G1a`` (`findings`).
2. The other operations on one value of one register make a zone; zones that conflict are
   ``nonlinearizable`` (`zones`).  The witness of a conflict is four operations: the two that bound each zone.
3. In runs whose registers Kafka keeps, staleness is legal: conflicts are reported and redden nothing.  What
   must hold there all the same is judged by `kept`.

A write of unknown fate may have happened or not; where its value was read, it happened.  A read that failed
or is of unknown fate says nothing.  Where a register is written the same value twice, or changed by
compare-and-set, zones do not decide; the verdict is then unknown unless another register decides it.
"""

from itertools import compress
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from checkers.columns import Booleans
from checkers.history import History
from checkers.licences.internal import OFFSETS_TOPIC, may_have_lost
from checkers.registers.columns import SHIFT, Registers
from checkers.registers.findings import Findings, find_conflicts, find_unwritten
from checkers.registers.kept import ANOMALIES, KINDS, find_in_kept, milestones_of, stale_reads, undecided
from checkers.registers.loading import Unreadable, registers_of
from checkers.registers.telling import Teller, shown
from checkers.registers.zones import Zones, zones_of
from checkers.verdict import Anomaly, CheckerResult, result_of

__all__ = ["applies", "check_registers", "obstacle_of"]

CHECKER = "registers"
"""The checker's name."""
_OFFSETS = "offset/"
"""How the names of registers begin that are committed offsets of groups."""


class _Workload(msgspec.Struct, frozen=True):
    """What feeds a run, as far as it matters here."""

    kind: str = "log"


class _Setup(msgspec.Struct, frozen=True):
    """What a run was made of, as far as it matters here."""

    workload: _Workload = _Workload()


def check_registers(history: History, initial: Any = None) -> CheckerResult:
    """Judge the registers of a history; valid where it has none.

    Args:
        history: as `checkers.reading.read_history` returns it.
        initial: what every register holds before it is written, any JSON value.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    registers = registers_of(history, initial)
    if isinstance(registers, Unreadable):
        return result_of(CHECKER, [], unknown_because=registers.reason)
    if registers is None or not len(registers.rows.key):
        doubt = None if registers is None else _swapped(registers)
        return result_of(CHECKER, [], figures=_figures(registers), unknown_because=doubt)
    teller = Teller(history.operations, registers, zones_of(registers.rows), initial)
    return _judged(history, teller)


def applies(history: History, initial: Any = None) -> bool:
    """Whether `check_registers` can decide: values are unique per register, and nothing else changes it."""
    return obstacle_of(history, initial) is None


def obstacle_of(history: History, initial: Any = None) -> str | None:
    """Why `check_registers` can't decide, naming register and value; None where it can.

    Arguments and errors are those of `check_registers`.
    """
    registers = registers_of(history, initial)
    if isinstance(registers, Unreadable):
        return registers.reason
    if registers is None or not len(registers.rows.key):
        return None if registers is None else _swapped(registers)
    return _obstacle(Teller(history.operations, registers, zones_of(registers.rows), initial))


def _judged(history: History, teller: Teller) -> CheckerResult:
    zones, findings = teller.zones, Findings(teller)
    sound = _sound(teller)
    kept = _workload_of(history) in KINDS
    find_unwritten(findings, ~np.isin(zones.key, teller.registers.swapped))
    find_conflicts(findings, sound, stale_allowed=kept)
    doubts = [_obstacle(teller), *history.damage]
    linearizable = False if findings.counts else None if doubts[0] is not None else True
    stale = stale_reads(teller, sound) if findings.counts else 0
    figures = _figures(teller.registers) | {"stale_reads": stale, "strict_linearizable": linearizable}
    if kept:
        milestones = milestones_of(history.operations)
        find_in_kept(findings, sound, milestones)
        doubts.append(undecided(teller, milestones))
    return result_of(
        CHECKER,
        _licensed(findings.anomalies, history) if kept else findings.anomalies,
        counts=findings.counts,
        figures=figures,
        unknown_because="; ".join(doubt for doubt in doubts if doubt is not None) or None,
    )


def _licensed(anomalies: list[Anomaly], history: History) -> list[Anomaly]:
    """Make losses of committed offsets legal where the topic that keeps them may have lost records."""
    committed = [a.illegal and a.id in ANOMALIES and str(a.subject).startswith(_OFFSETS) for a in anomalies]
    lost = may_have_lost(history, OFFSETS_TOPIC) if any(committed) else None
    if lost is None:
        return anomalies
    return [
        msgspec.structs.replace(anomaly, illegal=False, licence=lost) if of_offsets else anomaly
        for anomaly, of_offsets in zip(anomalies, committed, strict=True)
    ]


def _sound(teller: Teller) -> Booleans:
    """Clusters with exactly one write, of registers on which nothing stands in the way."""
    zones = teller.zones
    unfit = np.isin(zones.key, zones.key[zones.writes > 1]) | np.isin(zones.key, teller.registers.swapped)
    sound: Booleans = (zones.writes == 1) & ~unfit
    return sound


def _obstacle(teller: Teller) -> str | None:
    repeated = np.flatnonzero(teller.zones.writes > 1)
    if not len(repeated):
        return _swapped(teller.registers)
    zone = int(repeated[0])
    again = " (before the history, too)" if _is_initial(teller.zones, zone, teller.registers) else ""
    times = int(teller.zones.writes[zone])
    name, value = teller.subject(zone), teller.value(zone)
    return f"{name}: {value} was written {times} times{again}; zones need unique values"


def _is_initial(zones: Zones, zone: int, registers: Registers) -> bool:
    return bool((registers.rows.start[zones.rows_of(zone)] < SHIFT).any())


def _swapped(registers: Registers) -> str | None:
    if not registers.swapped:
        return None
    return f"{shown(registers.keys[registers.swapped[0]])} is changed by compare-and-set"


def _workload_of(history: History) -> str:
    """Kind of the workload; ``log`` where the history does not say."""
    setups = compress(history.operations, map("setup".__eq__, map(attrgetter("f"), history.operations)))
    setup = next(setups, None)
    return "log" if setup is None else msgspec.convert(setup.value, _Setup).workload.kind


def _figures(registers: Registers | None) -> dict[str, Any]:
    return {
        "registers": 0 if registers is None else len(registers.keys),
        "operations": 0 if registers is None else registers.operations,
        "stale_reads": 0,
        "strict_linearizable": True if registers is None or not registers.swapped else None,
    }
