"""Prints the doctor's report: two tables, and commands that fix what is missing."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.host.doctor import CheckState, DoctorReport

_SHAPES = {
    CheckState.OK: ("✔ ok", "green"),
    CheckState.MISSING: ("✘ missing", "red"),
    CheckState.OPTIONAL: ("○ optional", "yellow"),
}


def show(report: DoctorReport, console: Console) -> None:
    """Print the tables of a report, the commands that fix what is missing, and whether the host is ready."""
    console.print(_checks(report))
    console.print(_capabilities(report))
    fixable = [check for check in report.checks if check.fix]
    for check in fixable:
        console.print(f"To fix {check.name}: {check.fix}", markup=False, highlight=False)
    ready = f"Ready to run Kafka {report.kafka_version}." if report.ready else "Not ready yet."
    console.print(ready, markup=False, highlight=False)


def _checks(report: DoctorReport) -> Table:
    table = Table("what", "state", "found", title="This host", title_justify="left")
    for check in report.checks:
        table.add_row(check.name, Text(*_SHAPES[check.state]), Text(check.found))
    return table


def _capabilities(report: DoctorReport) -> Table:
    table = Table("fault", "available", "why not", title="Faults", title_justify="left")
    for capability in report.capabilities:
        shape = Text("✘ no", "red") if capability.why_not else Text("✔ yes", "green")
        table.add_row(capability.fault, shape, Text(capability.why_not or ""))
    return table
