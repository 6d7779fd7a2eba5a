"""Whether members of the load worked during faults, and how much of the output is theirs.

A member that never ran, for example because the host was busy, shows nothing.  Then the last member, which
meets no fault, processes everything, and the output is right whatever the cluster did during the faults.
"""

from checkers.evidence.faults import fault_windows
from checkers.history.operations import History
from checkers.history.phases import Phase, phase_began_ns
from checkers.transactional.streams.loading import Application, Report
from checkers.verdict.verdict import Assumption

MEMBERS_MIN = 2
"""Least number of members of the load that worked during faults."""
OUTPUTS_MIN = 100
"""Least number of committed records of the output that members of the load wrote."""
_RUNNING = "RUNNING"


def exercise_of(history: History, loaded: Application) -> tuple[Assumption, ...]:
    """The conditions of a valid result.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        loaded: its application.
    """
    begin_ns, end_ns = _span(history)
    wrote = {record.member for record in loaded.outputs}
    worked = sorted(
        member
        for member, reports in loaded.reports.items()
        if member in wrote and _worked(reports, begin_ns, end_ns)
    )
    theirs = sum(record.member in loaded.reports for record in loaded.outputs)
    return (
        Assumption(
            "members-worked",
            len(worked) >= MEMBERS_MIN,
            f"at least {MEMBERS_MIN} members of the load that were running and processed records, which were "
            "committed, between the first fault and the last heal",
            f"{len(worked)}{': ' if worked else ''}{', '.join(worked)}",
        ),
        Assumption(
            "records-counted",
            theirs >= OUTPUTS_MIN,
            f"at least {OUTPUTS_MIN} committed records of the output that members of the load wrote",
            str(theirs),
        ),
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
