"""The journals that a run must have left: those that its runner listed, and those implied by its set-up.

A run of format 1 lists none.  The journals that it had to write follow from its set-up and from how far it
got. Nothing is known about journals that it may have written (operators, scripts).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.history.operations import History, Operation, once
from checkers.history.phases import PHASE, Phase, phase_began_ns
from checkers.history.runner import OPENED
from checkers.history.setup import SETUP, LoadSetup, Setup

NEMESIS = "nemesis"
RUNNER = "runner"
GAMBITS = "gambits"
BLINKS = "nemesis-blinks"
_FILE = re.compile(r"history-(.+)\.jsonl")
_OWN = frozenset({"nemesis", "holds", "nodes", "replicas", "observer-quorum-state"})
"""Journals that only krucible's own runs have; if some of them exist, the runner wrote one too."""
_OWN_AT_LEAST = 2
_SCRIPTED = "scripted-transactions"
_OF_SCRIPT = 2
"""Number of last processes of such a workload that write nothing before their script begins."""
VALUES_PER_WORKER = 1_000_000_000
_WORKERS_MAX = 1_000
"""Largest accepted number of workers; no run has as many."""


class JournalSet(msgspec.Struct, frozen=True):
    """The reports of journals about the journals that must exist.

    Attributes:
        operations: the operations of all journals.
        names: name of each existing journal, to its number of lines after the header.
        listed: journals that the runner listed at its end.
    """

    operations: Sequence[Operation]
    names: Mapping[str, int]
    listed: Sequence[str] = ()


def journal_of(file: str) -> str | None:
    """Name of the journal that a file should hold; None if the file's name does not show it."""
    named = _FILE.fullmatch(file)
    return named[1] if named else None


def absent_journals(run: JournalSet) -> dict[str, str]:
    """Names of journals that are missing, or wrongly empty, each with the reason."""
    if RUNNER not in run.names:
        own = len(_OWN.intersection(run.names)) >= _OWN_AT_LEAST
        return {RUNNER: "the run wrote it, and it is not there"} if own else {}
    opened = [str(operation.key) for operation in run.operations if operation.f == OPENED]
    absent = {
        name: "the run listed it, and it is not there"
        for name in dict.fromkeys([*opened, *run.listed])
        if name not in run.names
    }
    for name in _written(run):
        if name not in run.names:
            absent.setdefault(name, "a run of this set-up writes it, and it is not there")
        elif not run.names[name]:
            absent[name] = "a run of this set-up writes something there, and it is empty"
    return absent


def _written(run: JournalSet) -> Iterator[str]:
    """Names of the journals to which a run with this set-up must have written."""
    planned = _planned_of(run.operations)
    phases = {operation.key for operation in run.operations if operation.f == PHASE}
    if planned is None or Phase.HEAL not in phases:
        return
    processes = min(next(iter(planned.workload.durable_processes), 0), _WORKERS_MAX)
    yield from _observers(planned)
    yield from _load(planned.workload, processes)
    if planned.planned_faults:
        yield NEMESIS
    if planned.planned_gambits:
        yield GAMBITS
    if planned.planned_blinks:
        yield BLINKS
    # A journal that is opened in a phase certainly exists only once the next phase has begun.
    if Phase.FINAL_READ in phases:
        yield f"worker-{processes}"
    if {Phase.FINAL_READ, Phase.EVIDENCE} <= phases:
        yield from (f"worker-{processes + 1 + n}" for n in range(min(planned.final_readers, _WORKERS_MAX)))
    if Phase.DONE in phases and planned.evidence:
        yield "replicas"


@once
def missing_journals(history: History) -> frozenset[str]:
    """Names of the missing journals, and of those that are incomplete according to other journals.

    A run that ended regularly and had no script has tried to inject every planned fault and blink, and every
    fault that its gambits report.
    """
    injects = history.of("inject")
    asked = {operation.key for operation in injects}
    blinks = {operation.key for operation in injects if _has(operation, "blink")}
    alone = {operation.key for operation in injects if not _has(operation, "gambit")} - blinks
    attempted = {operation.key for operation in history.of("heal")} | _tried(history)
    faults_planned, blinks_planned = _planned(history)
    tried = len(alone) >= faults_planned and len(blinks) >= blinks_planned
    if attempted <= asked and (tried or history.of("moves")):
        return history.lacking
    return history.lacking | {NEMESIS}


def _has(operation: Operation, what: str) -> bool:
    return isinstance(operation.value, dict) and bool(operation.value.get(what))


def _tried(history: History) -> set[str]:
    """Names of the faults that gambits tried to inject."""
    values = (operation.value for operation in history.of("gambit"))
    return {str(name) for value in values if isinstance(value, dict) for name in value.get("faults", ())}


def _planned(history: History) -> tuple[int, int]:
    """Numbers of faults and blinks that must exist; 0 if the run did not reach its end."""
    planned = _recorded_setup(history.operations)
    if planned is None or phase_began_ns(history, Phase.DONE) is None:
        return 0, 0
    return planned.planned_faults or 0, planned.planned_blinks


def is_unheard(history: History) -> Callable[[NDArray[np.int64]], NDArray[np.bool_]]:
    """Return a function that finds values that were possibly sent by workers whose journals are missing."""
    planned = _recorded_setup(history.operations)
    workload = planned.workload if planned else LoadSetup()
    workers, processes = workload.workers, next(iter(workload.durable_processes), 0)

    def unheard(values: NDArray[np.int64]) -> NDArray[np.bool_]:
        if planned is None and RUNNER in history.lacking:
            return np.ones(len(values), np.bool_)
        numbers, place = np.unique(values // VALUES_PER_WORKER, return_inverse=True)
        numbers = numbers % workers if workers else numbers
        senders = (_sender(workload, processes, number) for number in numbers.tolist())
        lost = np.array([sender in history.lacking for sender in senders], np.bool_)
        return lost[place]

    return unheard


def _sender(workload: LoadSetup, processes: int, worker: int) -> str:
    """Name of the journal in which a worker records its sends."""
    if workload.kind == "bulk" and worker < processes and workload.writers:
        return f"bulk-{worker % workload.writers}"
    return f"worker-{worker}"


def _observers(planned: Setup) -> Iterator[str]:
    yield "nodes"
    yield "observer-quorum-state"
    for node in planned.nodes:
        if "controller" in node.roles:
            yield f"observer-quorum-{node.name}"
        if "broker" in node.roles:
            yield f"observer-partitions-{node.name}"


def _load(workload: LoadSetup, processes: int) -> Iterator[str]:
    if workload.kind == "bulk":
        yield from (f"bulk-{number}" for number in range(min(workload.writers, _WORKERS_MAX)))
        return
    certain = processes - _OF_SCRIPT if workload.kind == _SCRIPTED else processes
    yield from (f"worker-{number}" for number in range(certain))


def _planned_of(operations: Sequence[Operation]) -> Setup | None:
    """The set-up, if it is from one of krucible's own runs; None if it can't be read."""
    planned = _recorded_setup(operations)
    return planned if planned is not None and planned.scenario else None


def _recorded_setup(operations: Sequence[Operation]) -> Setup | None:
    """The recorded set-up; None if there is none, or if it can't be read."""
    value = next((operation.value for operation in operations if operation.f == SETUP), None)
    try:
        return msgspec.convert(value, Setup)
    except msgspec.ValidationError:
        return None
