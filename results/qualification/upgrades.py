"""Lists the upgrades of a qualification: from which version, and how the runs ended."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkers.history.identity import RunIdentity
from results.campaigns.summary import Outcome, summarise
from results.qualification.records import QualificationRole, QualificationRun, outcomes
from results.sections.section import Section, named

UPGRADE = "upgrade"
"""The kind of fault that gives a node another version of Kafka."""
_COUNTS = (
    ">runs",
    ">valid",
    ">invalid",
    ">not decided",
    ">unexpected",
    ">changes of version",
    ">other faults",
)


class UpgradePath(NamedTuple):
    """What the runs of one row have in common."""

    scenario: str
    begins: str
    mode: str
    role: QualificationRole


def upgrades_section(runs: Sequence[QualificationRun]) -> Section:
    """A row for each scenario with upgrades, version that it begins with, mode and side."""
    paths = sorted({path for run in runs if (path := _path(run)) is not None}, key=_order)
    rows = tuple(_row(path, [run for run in runs if _path(run) == path]) for path in paths)
    head = ("`scenario", "from", "to", "mode", "side", *_COUNTS, "/runs")
    lead = (
        "Nodes got another version of Kafka under load, one after the other, with other faults between. "
        "Columns of faults: proven of attempted. An upgrade that is undone has changes back."
    )
    return Section("Upgrades", lead if rows else "", head, rows)


def _path(run: QualificationRun) -> UpgradePath | None:
    planned = run.planned
    if not planned.from_version:
        return None
    return UpgradePath(planned.scenario, planned.from_version, planned.mode, planned.role)


def _order(path: UpgradePath) -> tuple[str, list[int], str, bool]:
    numbers = [int(part) for part in path.begins.split(".") if part.isdigit()]
    return path.scenario, numbers, path.mode, path.role is QualificationRole.BASELINE


def _row(path: UpgradePath, runs: Sequence[QualificationRun]) -> tuple[str, ...]:
    summary = summarise(outcomes(runs))
    changed = [total for total in summary.faults if total.kind == UPGRADE]
    others = [total for total in summary.faults if total.kind != UPGRADE]
    valid, invalid = (summary.counts[outcome] for outcome in (Outcome.VALID, Outcome.INVALID))
    return (
        path.scenario,
        path.begins,
        ", ".join(sorted({identity.kafka_version for identity in _identities(runs)})) or "no run",
        path.mode or "not known",
        path.role,
        f"{len(runs):,}",
        f"{valid:,}",
        f"{invalid:,}",
        f"{len(runs) - valid - invalid:,}",
        f"{summary.unexpected:,}",
        *(
            f"{sum(total.proven for total in totals):,} of {sum(total.count for total in totals):,}"
            for totals in (changed, others)
        ),
        named(tuple(run.folder for run in outcomes(runs))),
    )


def _identities(runs: Sequence[QualificationRun]) -> Iterator[RunIdentity]:
    return (run.identity for run in runs if run.identity)
