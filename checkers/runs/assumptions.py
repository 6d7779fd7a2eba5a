"""The assumptions checker: whether a run was complete, and its faults real, long and under load.

It finds no anomalies.  An unmet assumption makes a verdict unknown, because nothing can be concluded from a
run that did not do what was planned.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from msgspec import UNSET

from checkers.columns.sends import AcknowledgedSends, Integers, acknowledged, invoked_ns
from checkers.columns.tables import PartitionName
from checkers.evidence.administration import performed
from checkers.evidence.faults import FOREVER_NS, FaultWindow, fault_windows
from checkers.evidence.topic_partitions import possible_partitions
from checkers.history.error_codes import ErrorCode
from checkers.history.faults import FaultRecorded, Refusal, recorded_fault
from checkers.history.operations import FAIL, INVOKE, OK, Decoded, History, Operation, OperationType
from checkers.history.phases import PHASE, Phase, phase_began_ns
from checkers.history.polls import FinalReadRequested
from checkers.history.runner import FAILURE, LASTED, HarnessFailed
from checkers.history.setup import RequiredNumbers, Setup, setup_of
from checkers.history.transactions import ScriptPlayed, sends_of
from checkers.history.units import NS_PER_MS
from checkers.runs.additions import additions_loaded
from checkers.runs.blinks import blink_figures, check_blinks
from checkers.runs.compaction import aborted_removed, compaction_ran
from checkers.runs.coverage import coverage_of
from checkers.runs.gambits import check_gambits, gambit_figures
from checkers.runs.short_lists import all_of, first_of, lowest_of, number_of
from checkers.runs.transacted import transacted
from checkers.verdict.entry import Entry
from checkers.verdict.needs import NOTHING
from checkers.verdict.verdict import Assumption, CheckerResult, result_of

CHECKER = "assumptions"
_OLD_EPOCH_ERRORS = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
)
"""Answers to a late commit by a coordinator that looked at its state of the transaction."""
_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
"""Answers to an older instance that asks to raise its epoch while there is no transaction."""
_OFFSET = 4
"""Index of the offset in a send of a completed transaction, if the send reached that point."""
PLAYER = "moves"
"""The process that plays a scenario's moves."""


def check_assumptions(history: History) -> CheckerResult:
    """Test the conditions of docs/histories.md's ``assumptions``, and that the run reached its end.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    setup = setup_of(history)
    windows = fault_windows(history)
    met = [_setup_present(setup), _undamaged(history), _complete(history), *_harness_lasted(history)]
    if setup is not None:
        acked = acknowledged(history)
        met += [_injected(history, setup, windows), _loaded(acked, history), _polled(history, setup)]
        met += additions_loaded(acked, history)
        met += [_finally_read(history, setup), *_performed(history, setup)]
        met += coverage_of(history, setup, windows)
        met += _scripted(history) + _played(history, setup) + compaction_ran(history, setup)
        met += aborted_removed(history, setup)
        met += transacted(history, setup.workload)
        if windows:
            met += _of_faults(windows) + _under_load(acked, history, setup.assumptions, windows)
        met += check_blinks(history, setup, windows)
        met += check_gambits(history, setup, windows)
    disks = sum(window.proven and window.hits_disks for window in windows)
    withheld = sum(refusal.value.planned.sparing is True for refusal in _refused(history))
    figures = {
        "faults": len(windows),
        "faults_of_disks": disks,
        "faults_withheld": withheld,
        **gambit_figures(history, setup, windows),
        **blink_figures(setup, windows),
        **({"admin_operations": performed(history)} if setup is not None and setup.operations_min else {}),
    }
    return result_of(CHECKER, [], assumptions=tuple(met), figures=figures)


def _setup_present(setup: Setup | None) -> Assumption:
    found = "none" if setup is None else f"one, of Kafka {setup.kafka_version}"
    return Assumption("setup-present", setup is not None, "a setup operation", found)


def _undamaged(history: History) -> Assumption:
    found = "; ".join(history.damage) or "all journals are complete"
    return Assumption("history-undamaged", not history.damage, "complete journals", found)


def _complete(history: History) -> Assumption:
    phases = [str(operation.key) for operation in history.of(PHASE)]
    found = f"ended in phase {phases[-1]}" if phases else "no phase began"
    return Assumption("run-complete", Phase.DONE in phases, f"the run reached phase {Phase.DONE}", found)


def _harness_lasted(history: History) -> Iterator[Assumption]:
    """Failures of the harness itself, if there were any: the run did less than was planned."""
    failures = ((o.key, msgspec.convert(o.value, HarnessFailed)) for o in history.of(FAILURE))
    found = [f"during {key}: {failed.error}" for key, failed in failures]
    if found:
        yield Assumption(
            name=LASTED,
            met=False,
            expected="a harness without errors",
            observed="; ".join(found),
        )


def _injected(history: History, setup: Setup, windows: Sequence[FaultWindow]) -> Assumption:
    """Require as many proven faults as were planned, or at least one if the number is not recorded.

    Withheld faults count as proven, but not all faults may be withheld.  So do random faults whose targets
    other faults held, because the node was under a fault.  At most half as many as the others count, because
    otherwise hardly any of the random faults was tried.
    """
    planned = 1 if setup.planned_faults is None else setup.planned_faults
    proven = sum(window.proven and window.alone for window in windows)
    refused = [each for each in _refused(history) if not each.value.gambit and not each.value.blink]
    withheld = [each for each in refused if each.value.planned.sparing is True]
    meant = planned - len(withheld)
    # Random faults that found all their possible targets held by other faults.
    held = [each for each in refused if each not in withheld and each.value.refused == Refusal.HELD]
    redundant = len(held) if setup.drawn_faults else 0
    needed = max(min(planned, 1), meant - min(redundant, meant // 2))
    not_attempted = "".join(
        f"; {o.key} was not attempted ({o.error or 'no reason given'})" for o, _ in refused
    )
    return Assumption(
        "faults-injected",
        proven >= needed,
        f"at least {number_of(needed, 'proven fault')}",
        f"{number_of(proven, 'proven fault')}{not_attempted}",
    )


def _refused(history: History) -> list[Decoded[FaultRecorded]]:
    recorded = ((each, recorded_fault(each)) for each in history.of("inject") if each.type is FAIL)
    return [Decoded(operation, fault) for operation, fault in recorded if fault is not None]


def _made_to_be_loaded(history: History) -> list[PartitionName]:
    """Partitions that the load writes to from its start."""
    return [each.name for each in possible_partitions(history) if each.loaded and not each.added]


def _loaded(acked: AcknowledgedSends, history: History) -> Assumption:
    """Require that every partition acknowledged a write before the heal; without traffic nothing is proved.

    Later writes prove recovery, but nothing about the time under faults.
    """
    began_ns = phase_began_ns(history, Phase.HEAL)
    ended_ns = FOREVER_NS if began_ns is None else began_ns
    under_load = acked.time_ns < ended_ns
    width = int(acked.partition.max(initial=0)) + 1
    codes = np.unique(acked.topic[under_load] * width + acked.partition[under_load])
    loaded = {(acked.topics[code // width], code % width) for code in codes.tolist()}
    loaded |= _loaded_by_transactions(history, ended_ns)
    expected = _made_to_be_loaded(history)
    idle = [str(name) for name in expected if name not in loaded]
    return Assumption(
        "partitions-loaded",
        not idle,
        "each partition acknowledged a record before phase heal",
        f"without any: {first_of(idle)}" if idle else all_of(len(expected), "partition"),
    )


def _loaded_by_transactions(history: History, until_ns: int) -> set[tuple[str, int]]:
    """Partitions that acknowledged a record of a transaction, whatever the end of the transaction.

    `acknowledged` leaves out transactions that did not commit, but their records were appended too.
    """
    return {
        (send[1], send[2])
        for operation in history.of("txn")
        if operation.type is not INVOKE and operation.time_ns < until_ns and operation.value is not None
        for send in sends_of(operation)
        if len(send) > _OFFSET and send[_OFFSET] is not None
    }


def _polled(history: History, setup: Setup) -> Assumption:
    """Require that, if there are consumers, a poll returned records of every partition.

    The creation of a consumer that fails is repeated until the load ends, and leaves no operation.
    """
    polled = {
        (operation.key, stretch[0])
        for operation in history.of("poll")
        if operation.type is OK
        for stretch in operation.value["records"]
    }
    expected = _made_to_be_loaded(history) if setup.workload.consumers else ()
    unread = [str(name) for name in expected if name not in polled]
    return Assumption(
        "partitions-polled",
        not unread,
        "a record of each partition returned by a poll, if there are consumers",
        f"without any: {first_of(unread)}" if unread else _all_polled(setup, len(expected)),
    )


def _all_polled(setup: Setup, partitions: int) -> str:
    return all_of(partitions, "partition") if setup.workload.consumers else "no consumers"


def _finally_read(history: History, setup: Setup) -> Assumption:
    """Require that every planned reader began its final read; the log checker judges whether it ended."""
    readers = {
        (asked.client, asked.isolation)
        for asked in (
            msgspec.convert(operation.value, FinalReadRequested)
            for operation in history.of("final-read")
            if operation.type is INVOKE
        )
    }
    return Assumption(
        "final-readers",
        len(readers) >= setup.final_readers,
        f"final reads by {setup.final_readers} pairs of client and isolation level",
        f"{len(readers)} of {setup.final_readers}",
    )


def _performed(history: History, setup: Setup) -> list[Assumption]:
    """Require that as many admin operations of each drawn kind were answered as the scenario requires."""
    if not setup.operations_min:
        return []
    answered = performed(history)
    few = {kind: n for kind, n in setup.operations_min.items() if answered.get(kind, 0) < n}
    unseen = ", ".join(f"{kind}: {answered.get(kind, 0)} of {n}" for kind, n in few.items())
    seen = ", ".join(f"{kind}: {answered.get(kind, 0)}" for kind in setup.operations_min)
    least = ", ".join(f"{kind}: {n}" for kind, n in setup.operations_min.items())
    return [
        Assumption(
            "operations-seen",
            not few,
            f"Kafka answered at least: {least}",
            unseen or seen,
        )
    ]


def _played(history: History, setup: Setup) -> list[Assumption]:
    """Require that every script was carried out as written; otherwise a bug could not have been shown.

    Raises:
        msgspec.ValidationError: the answers of a script are not as docs/histories.md says.
    """
    controls = history.of("control")
    found = []
    for name in setup.controls:
        ended = [o for o in controls if o.key == name and o.type is not INVOKE]
        played = bool(ended) and all(o.type is OK and _proves(o) for o in ended)
        failures = (o.error or "the producer's epoch was not old" for o in ended if o.error or not _proves(o))
        outcome = next(failures, "it never ended" if not ended else "as written")
        found.append(
            Assumption("control-played", played, f"the script {name} is carried out to its end", outcome)
        )
    return found


def _proves(control: Operation) -> bool:
    """Whether a script's answers prove something: of three scripts, that the epoch was old.

    A coordinator that is not the coordinator any more does not look at the epoch.
    """
    if not control.value:
        return True
    played = msgspec.convert(control.value, ScriptPlayed)
    if played.late_commit_error is not UNSET:
        newer_by = 0 if played.newer_by is UNSET else played.newer_by
        return newer_by > 0 and played.late_commit_error in _OLD_EPOCH_ERRORS
    if played.older_epoch_errors is not UNSET:
        return played.older_epoch_errors[0] in _FENCED
    errors = played.timed_out_errors
    return errors is UNSET or errors[1] == ErrorCode.INVALID_PRODUCER_EPOCH


def _scripted(history: History) -> list[Assumption]:
    """Require that every move of a script succeeded; the first failure ends the script."""
    tried = [o for o in history.operations if o.process == PLAYER and o.type is not INVOKE]
    failed = [
        f"{f'{o.f} {o.key}' if o.key else o.f}: {o.error or 'no reason given'}"
        for o in tried
        if o.type is not OK
    ]
    if not tried:
        return []
    if all(operation.f != "moves" for operation in tried):
        failed.append("it never ended")
    outcome = "; ".join(failed) or "all moves as written"
    return [
        Assumption(
            "script-played",
            not failed,
            "all requests of the script succeed and all awaited states are reached",
            outcome,
        )
    ]


def _of_faults(windows: Sequence[FaultWindow]) -> list[Assumption]:
    """Require that every fault except blinks was confirmed, and that every fault's end was confirmed."""
    lasting = [window for window in windows if not window.blink]
    unproven = [window.id for window in lasting if not window.proven]
    unhealed = [window.id for window in windows if window.healed_ns is None]
    return [
        Assumption(
            "fault-proven",
            not unproven,
            "a probe proved each fault, except blinks",
            f"not proven: {first_of(unproven)}" if unproven else all_of(len(lasting), "fault"),
        ),
        Assumption(
            "fault-healed",
            not unhealed,
            "a probe proved each heal",
            f"not healed: {first_of(unhealed)}" if unhealed else all_of(len(windows), "fault"),
        ),
    ]


def _under_load(
    acked: AcknowledgedSends, history: History, numbers: RequiredNumbers, windows: Sequence[FaultWindow]
) -> list[Assumption]:
    """Require that every separate fault was long enough, under load, with traffic before and after it."""
    succeeded = _with_writes(acked.time_ns, history, OK)
    begun = _with_writes(invoked_ns(history), history, INVOKE)

    def before(window: FaultWindow) -> int:
        return int(np.searchsorted(succeeded, window.invoked_ns, side="left"))

    def after(window: FaultWindow) -> int:
        return len(succeeded) - int(np.searchsorted(succeeded, window.end_ns, side="right"))

    def during(window: FaultWindow) -> int:
        first, last = window.effective_ns or window.invoked_ns, window.heal_invoked_ns or window.end_ns
        return int(np.searchsorted(begun, last, side="right") - np.searchsorted(begun, first, side="left"))

    alone = [window for window in windows if window.alone]
    least = numbers.acked_before
    text = f"at least {least} records acknowledged before each fault"
    met = [_at_least("acked-before", least, text, {each.id: before(each) for each in windows})]
    least = numbers.acked_after
    text = f"at least {least} records acknowledged after the heal of each fault"
    met.append(_at_least("acked-after", least, text, {each.id: after(each) for each in windows}))
    if alone:
        least = numbers.invoked_during
        text = f"at least {least} records whose send began during each fault"
        met.append(_at_least("invoked-during", least, text, {each.id: during(each) for each in alone}))
        least = numbers.fault_held_ms
        text = f"each fault in force for at least {least} ms"
        held_ms = {each.id: each.held_ns // NS_PER_MS for each in alone}
        met.append(_at_least("fault-held", least, text, held_ms, "ms"))
    return met


def _with_writes(records_ns: Integers, history: History, kind: OperationType) -> Integers:
    """Times of records and, of the same kind, of writes to registers; ascending."""
    writes = [operation.time_ns for operation in history.of("write") if operation.type is kind]
    return np.sort(np.concatenate((records_ns, np.array(writes, dtype=np.int64))))


def _at_least(name: str, least: int, expected: str, counts: Mapping[str, int], unit: str = "") -> Assumption:
    return Assumption(name, min(counts.values()) >= least, expected, lowest_of(counts, least, unit))


ENTRY = Entry(CHECKER, check_assumptions, {}, NOTHING)
