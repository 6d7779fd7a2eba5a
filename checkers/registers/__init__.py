"""Judges whether registers whose written values are unique are linearizable.

Operations are *write* and *read* of docs/histories.md.  Real time is the order of the history: an operation
precedes another if its completion is before the other's invocation.

1. Reads of values that were never written are ``phantom``, and reads of values of failed writes are ``G1a``
   (`findings`).
2.  The other operations on one value of one register form a zone, and conflicting zones are
    ``nonlinearizable`` (`zones`).  The witness of a conflict is four operations: the two that bound each
    zone.
3.  In runs whose registers Kafka stores, stale reads are legal, so conflicts are reported as legal.
   `stored_registers` judges the rules that still hold.

A write with an unknown outcome happened if its value was read.  A read that failed, or has an unknown
outcome, is ignored.  If the same value is written to a register twice, or if the register is changed by
compare-and-set, zones do not decide about it.  The verdict is then unknown unless another register decides
it.

Registers are judged in parts, one in each process (`parts`).
"""

from dataclasses import dataclass, replace
from itertools import compress
from operator import attrgetter

import msgspec

from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.history.operations import INVOKE, History
from checkers.history.setup import Setup
from checkers.history.sources import unassigned_damage
from checkers.licences.internal import may_have_lost
from checkers.registers.anomalies import ANOMALIES, NEEDS
from checkers.registers.columns import Registers
from checkers.registers.coordinating import coordinations_of, delaying, group_of
from checkers.registers.loading import Unreadable, registers_of
from checkers.registers.parts import (
    CHECKER,
    Losing,
    RegistersOverview,
    check_part,
    put_together,
    repeated,
    swapped,
)
from checkers.registers.stored_registers import LAGS_NS, Milestones, milestones_of
from checkers.registers.texts import RegisterTexts
from checkers.registers.zones import zones_of
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

__all__ = ["ENTRY", "Judgeable", "applies", "check_registers", "judgeable", "losing_of", "obstacle_of"]


@dataclass(frozen=True, slots=True)
class Judgeable:
    """The registers that can be judged, and the facts about all of them."""

    registers: Registers
    overview: RegistersOverview


def check_registers(history: History, initial: object = None) -> CheckerResult:
    """Judge the registers of a history; the result is not exercised if it has none.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        initial: initial value of every register, any JSON value.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    found = judgeable(history, initial)
    if isinstance(found, CheckerResult):
        return found
    part = check_part(found.registers, history.operations, found.overview.milestones, initial)
    return put_together(found.overview, [part], losing_of(history))


def judgeable(history: History, initial: object = None) -> Judgeable | CheckerResult:
    """Load the registers of a history; return a result at once if there is nothing to judge.

    Arguments and errors are those of `check_registers`.
    """
    registers = registers_of(history, initial)
    if isinstance(registers, Unreadable):
        return result_of(CHECKER, [], unknown_because=registers.reason)
    if registers is None or not len(registers.rows.key):
        doubt = None if registers is None else swapped(registers)
        return result_of(CHECKER, [], figures=_figures(registers), unknown_because=doubt, exercised=False)
    kept = _workload_of(history) in LAGS_NS
    overview = RegistersOverview(
        registers=len(registers.keys),
        operations=registers.operations,
        swapped=swapped(registers),
        damage=unassigned_damage(history),
        milestones=_milestones(history, registers) if kept else None,
    )
    return Judgeable(registers, overview)


def _milestones(history: History, registers: Registers) -> Milestones:
    return replace(
        milestones_of(history.operations),
        coordinations=coordinations_of(history, registers),
        delaying=delaying(history),
        lag_ns=LAGS_NS[_workload_of(history)],
    )


def losing_of(history: History) -> Losing:
    """Return the function that `put_together` calls to find a loss.

    A loss counts if it concerns the partition of the offsets topic that stores the group's commits, happened
    before the read was answered, and had not ended when the commit was requested that the read missed.
    """

    def losing(anomaly: Anomaly) -> str | None:
        seen = [history.operations[index] for index in anomaly.witness]
        missed, read = (next(o for o in seen if o.type is INVOKE and o.f == f) for f in ("write", "read"))
        answers = (o for o in history.operations[read.index + 1 :] if o.process == read.process)
        place = offsets_partition(history, group_of(anomaly.subject or ""))
        number = None if place is None else place.partition
        return may_have_lost(history, OFFSETS_TOPIC, number, missed.time_ns, next(answers).time_ns)

    return losing


def applies(history: History, initial: object = None) -> bool:
    """Whether `check_registers` can decide: no value is written to a register twice; see `obstacle_of`."""
    return obstacle_of(history, initial) is None


def obstacle_of(history: History, initial: object = None) -> str | None:
    """Why `check_registers` can't decide, with register and value; None if it can.

    Arguments and errors are those of `check_registers`.
    """
    registers = registers_of(history, initial)
    if isinstance(registers, Unreadable):
        return registers.reason
    if registers is None or not len(registers.rows.key):
        return None if registers is None else swapped(registers)
    texts = RegisterTexts(history.operations, registers, zones_of(registers.rows), initial)
    return repeated(texts) or swapped(registers)


def _workload_of(history: History) -> str:
    """Kind of the workload; ``log`` if not recorded."""
    setups = compress(history.operations, map("setup".__eq__, map(attrgetter("f"), history.operations)))
    setup = next(setups, None)
    return "log" if setup is None else msgspec.convert(setup.value, Setup).workload.kind


def _figures(registers: Registers | None) -> dict[str, object]:
    return {
        "registers": 0 if registers is None else len(registers.keys),
        "operations": 0 if registers is None else registers.operations,
        "stale_reads": 0,
        "offset_reads_compared": 0,
        "strict_linearizable": True if registers is None or not registers.swapped else None,
    }


ENTRY = Entry(CHECKER, check_registers, ANOMALIES, NEEDS)
