"""Whether members of the load worked during faults, and how much of the output is theirs.

A member that never ran, for example because the host was busy, shows nothing.  Then the last member, which
meets no fault, processes everything, and the output is right whatever the cluster did during the faults.

Records that were never processed break no rule.  So the group must have gone past all of the input.
"""

from collections import Counter
from collections.abc import Sequence

from checkers.evidence.faults import fault_windows
from checkers.history.operations import History
from checkers.history.phases import Phase, phase_began_ns
from checkers.transactional.streams.loading import Application, Report
from checkers.verdict.verdict import Assumption

MEMBERS_MIN = 2
"""Least number of members of the load that worked during faults."""
OUTPUTS_MIN = 100
"""Least number of committed outputs of members of the load, for records that were sent in that time."""
_RUNNING = "RUNNING"


def exercise_of(history: History, loaded: Application) -> tuple[Assumption, ...]:
    """The conditions of a valid result.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        loaded: its application.
    """
    begin_ns, end_ns = _span(history)
    wrote = _during(loaded, begin_ns, end_ns)
    worked = sorted(
        member
        for member, reports in loaded.reports.items()
        if wrote[member] and _worked(reports, begin_ns, end_ns)
    )
    return (
        Assumption(
            "members-worked",
            len(worked) >= MEMBERS_MIN,
            f"at least {MEMBERS_MIN} members of the load that were running and processed records, which were "
            "sent and committed, between the first fault and the last heal",
            _names(worked) + ("" if len(worked) >= MEMBERS_MIN else _why(loaded)),
        ),
        Assumption(
            "records-counted",
            wrote.total() >= OUTPUTS_MIN,
            f"at least {OUTPUTS_MIN} committed records of the output that members of the load wrote, for "
            "records that were sent between the first fault and the last heal",
            str(wrote.total()),
        ),
        _input_processed(loaded),
    )


def _names(members: Sequence[str]) -> str:
    return f"{len(members)}{': ' if members else ''}{', '.join(members)}"


def _why(loaded: Application) -> str:
    """The last exception of a member of the load, which may be why it did not work."""
    member = next(reversed(loaded.exceptions), None)
    return "" if member is None else f"; last exception, of {member}: {loaded.exceptions[member]}"


def _during(loaded: Application, begin_ns: int, end_ns: int) -> Counter[str]:
    """How many outputs each member of the load committed for records that were sent in a span of time.

    An output does not show when it was committed.  It was certainly not before its input was sent.
    """
    never_ns = begin_ns - 1
    return Counter(
        record.member
        for record in loaded.outputs
        if record.member in loaded.reports
        and begin_ns <= loaded.sent_ns.get(record.value, never_ns) <= end_ns
    )


def _input_processed(loaded: Application) -> Assumption:
    """Whether the group has gone past all records of the input.

    The last record counts and not the end of the log, because markers of transactions may follow it.
    """
    answers = [*loaded.before, *([] if loaded.after is None else [loaded.after])]
    offsets = answers[-1].offsets if answers else {}
    behind = [
        f"{partition}: {offsets.get(partition, 0)} of {max(records) + 1}"
        for partition, records in sorted(loaded.inputs.items())
        if records and offsets.get(partition, 0) <= max(records)
    ]
    return Assumption(
        "input-processed",
        not behind,
        "the group's last offset of each partition of the input is above its last record",
        ", ".join(behind) or "all records",
    )


def figures_of(loaded: Application) -> dict[str, int]:
    """What was looked at."""
    before = loaded.before[0].offsets if loaded.before else {}
    return {
        "inputs": sum(map(len, loaded.inputs.values())),
        "outputs": len(loaded.outputs),
        "outputs_of_load": sum(record.member in loaded.reports for record in loaded.outputs),
        "members": len(loaded.reports),
        "members_that_ran": sum(any(r.state == _RUNNING for r in each) for each in loaded.reports.values()),
        "passed_by_load": sum(before.values()),
    }


def _span(history: History) -> tuple[int, int]:
    """From the first fault to the last heal; without faults, from the load to the final read."""
    windows = fault_windows(history)
    if windows:
        return min(window.invoked_ns for window in windows), max(window.end_ns for window in windows)
    return phase_began_ns(history, Phase.LOAD) or 0, phase_began_ns(history, Phase.FINAL_READ) or 0


def _worked(reports: list[Report], begin_ns: int, end_ns: int) -> bool:
    """Whether a member was running in a span of time, and processed records in it.

    What a member that began earlier had processed by its first report in the span may be from before.
    """
    within = [report for report in reports if begin_ns <= report.time_ns <= end_ns]
    if not any(report.state == _RUNNING for report in within):
        return False
    earlier = any(report.time_ns < begin_ns for report in reports)
    return max(report.processed for report in within) > (within[0].processed if earlier else 0)
