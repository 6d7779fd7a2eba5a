"""The journals that a rule needs, and the parts of these journals that a history lacks.

A journal that was lost, cut short or emptied does not show what its writer did after some time.  A rule that
needs it can't decide; all other rules can.  An action that is not recorded must cause neither a valid verdict
nor an anomaly.
"""

import re
from enum import StrEnum

from checkers.history.journals import missing_journals
from checkers.history.operations import History


class Source(StrEnum):
    """Sources of a history: the records of one kind of writer, in its own journals."""

    CLIENTS = "clients"
    START_CHANGES = "changes of share groups' start offsets"
    FAULTS = "faults"
    ADMIN = "admin operations"
    MOVES = "moves of the script"
    RUNNER = "the runner"
    NODES = "states of the nodes' processes"
    QUORUM = "answers of the quorum's leaders"
    QUORUM_STATE = "quorum-state files"
    PARTITIONS = "brokers' views of partitions"
    REASSIGNMENTS = "reassignments under way"
    FEATURES = "feature levels that nodes reported"
    OFFSETS = "offsets that leaders reported"
    STARTS = "starts of replicas' logs"
    ENDS = "ends of replicas' logs"
    COMMITS = "commits in the offsets topic"
    DISKS = "the nodes' disks"
    BROKER_LOGS = "brokers' logs"
    CONTROLLER_LOGS = "controllers' logs"
    REFUSALS = "errors in brokers' logs"
    BROKER_LOADS = "logs that brokers loaded"
    CONTROLLER_LOADS = "logs that controllers loaded"
    SHRUNK_ISRS = "ISRs that brokers shrank"
    TRUNCATIONS = "logs that brokers truncated"
    QUORUM_VIEWS = "voters in nodes' logs"


_JOURNALS = {
    Source.CLIENTS: re.compile(r"(worker|bulk)-\d+|script"),
    Source.START_CHANGES: re.compile(r"altering .*", re.DOTALL),
    Source.FAULTS: re.compile(r"nemesis(-\d+|-blinks)?|holds"),
    Source.ADMIN: re.compile(r"admin(-\d+)?"),
    Source.MOVES: re.compile(r"moves"),
    Source.RUNNER: re.compile(r"runner"),
    Source.NODES: re.compile(r"nodes"),
    Source.QUORUM: re.compile(r"observer-quorum-(?!state$).*"),
    Source.QUORUM_STATE: re.compile(r"observer-quorum-state"),
    Source.PARTITIONS: re.compile(r"observer-partitions-.*"),
    Source.REASSIGNMENTS: re.compile(r"observer-reassignments"),
    Source.FEATURES: re.compile(r"observer-features-.*"),
    Source.OFFSETS: re.compile(r"observer-offsets"),
    Source.STARTS: re.compile(r"observer-starts-.*"),
    Source.ENDS: re.compile(r"observer-ends"),
    Source.COMMITS: re.compile(r"observer-commits"),
    Source.DISKS: re.compile(r"replicas"),
    Source.BROKER_LOGS: re.compile(r"broker .*", re.DOTALL),
    Source.CONTROLLER_LOGS: re.compile(r"controller .*", re.DOTALL),
    Source.REFUSALS: re.compile(r"node-log of broker .*", re.DOTALL),
    Source.BROKER_LOADS: re.compile(r"loaded of broker .*", re.DOTALL),
    Source.CONTROLLER_LOADS: re.compile(r"loaded of controller .*", re.DOTALL),
    Source.SHRUNK_ISRS: re.compile(r"isr-shrunk of broker .*", re.DOTALL),
    Source.TRUNCATIONS: re.compile(r"(truncated|log-cut) of broker .*", re.DOTALL),
    Source.QUORUM_VIEWS: re.compile(r"(quorum-view|metadata-truncated) of .*", re.DOTALL),
}
"""Names of each source's journals, see docs/histories.md, and of the entries that `missing_logs` reports.

A journal whose writer's role matters has a second entry, see `checkers.verdict.withholding`.
"""


def lacking(history: History, *sources: Source) -> str | None:
    """Why a rule that needs all data of some sources can't decide; None if nothing is missing.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        sources: the sources that the rule needs.
    """
    return lacking_of(missing_journals(history), *sources)


def lacking_of(missing: frozenset[str], *sources: Source) -> str | None:
    """Return the result of `lacking`, given the names of the missing journals."""
    texts = [
        f"{source} ({', '.join(names)})"
        for source in dict.fromkeys(sources)
        if (names := sorted(name for name in missing if _JOURNALS[source].fullmatch(name)))
    ]
    return f"the history lacks records of {' and '.join(texts)}" if texts else None


def unassigned_damage(history: History) -> tuple[str, ...]:
    """Damage for which the affected journals are unknown, so that it affects every rule."""
    return () if history.lacking else history.damage
