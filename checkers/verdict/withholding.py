"""Limits results to certain findings if journals or nodes' logs are missing.

The entry of a checker states its needs, see `checkers.verdict.needs`.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from checkers.history.journals import RUNNER, missing_journals
from checkers.history.missing_logs import missing_logs
from checkers.history.operations import History, once
from checkers.history.runner import OPENED
from checkers.history.setup import recorded_setup
from checkers.history.sources import lacking_of
from checkers.verdict.needs import NOTHING, Needs
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity

_NO_SETUP = "the runner's journal is lost, and with it the setup of the run"

_DELETER = "deleter"
"""Role of workers that request the deletion of records."""
_ALTERING = "altering"
"""Role of workers that set and delete start offsets of share groups."""
_WORKER = re.compile(r"worker-\d+")


class MissingParts(NamedTuple):
    """The missing parts of a history.

    Attributes:
        missing: names of the missing journals and of the missing parts of nodes' logs, and an entry for each
            missing journal of a worker that may have changed start offsets of share groups.
        workload: kind of the workload; None if the setup is missing.
        deleters: the missing journals whose writers requested the deletion of records.
    """

    missing: frozenset[str]
    workload: str | None
    deleters: frozenset[str] = frozenset()

    def why(self, needs: Needs, rule: str) -> str | None:
        """Why findings of a rule must be dropped; None if all sources that it rests on are present."""
        if self.workload is None:
            return _NO_SETUP
        if self.deleters and rule in needs.not_deleted:
            return f"the history lacks records of deletions ({', '.join(sorted(self.deleters))})"
        here = needs.of_workload.get(self.workload, {})
        return lacking_of(self.missing, *needs.all_rest_on, *needs.rest_on.get(rule, ()), *here.get(rule, ()))

    def unseen(self, needs: Needs) -> str | None:
        """Why a checker may have missed anomalies; None if all sources that it looks at are present."""
        if self.workload is None:
            return _NO_SETUP
        idle = needs.workloads and self.workload not in needs.workloads
        return None if idle else lacking_of(self.missing, *needs.looks_at)


@once
def missing_parts_of(history: History) -> MissingParts | None:
    """The missing parts of a history; None if nothing is missing."""
    missing = missing_journals(history) | missing_logs(history)
    if not missing:
        return None
    setups = history.of("setup")
    if not setups and RUNNER in missing:
        return MissingParts(missing, None)
    roles = {str(o.key): o.value.get("role") for o in history.of(OPENED) if isinstance(o.value, dict)}
    deleters = frozenset(name for name in missing if roles.get(name) == _DELETER)
    return MissingParts(missing | _altering(history, missing, roles), _kind_of(history), deleters)


def _altering(history: History, missing: frozenset[str], roles: Mapping[str, object]) -> frozenset[str]:
    """Entries for missing journals of workers that may have changed start offsets of share groups.

    The runner's journal may lack the role of a worker.  This worker counts if the run makes such changes.
    """
    try:
        unsure = recorded_setup(history).workload.alter_interval_ms > 0
    except msgspec.ValidationError:
        unsure = False
    otherwise = _ALTERING if unsure else None
    workers = (name for name in missing if _WORKER.fullmatch(name))
    return frozenset(f"{_ALTERING} {name}" for name in workers if (roles.get(name) or otherwise) == _ALTERING)


def _kind_of(history: History) -> str:
    """Kind of the workload; ``log`` if the setup can't be read."""
    try:
        return recorded_setup(history).workload.kind
    except msgspec.ValidationError:
        return "log"


def withheld(result: CheckerResult, needs: Needs, lost: MissingParts | None) -> CheckerResult:
    """Drop the anomalies that missing journals may have caused, and state what is therefore unknown.

    Args:
        result: the checker's result.
        needs: the needs of the checker's rules.
        lost: the missing parts of the history.
    """
    if lost is None or needs == NOTHING:
        return result
    doubts = dict.fromkeys(filter(None, [lost.unseen(needs)]))
    kept = []
    for anomaly in result.anomalies:
        why = lost.why(needs, anomaly.id) if anomaly.illegal else None
        if why is None:
            kept.append(anomaly)
        else:
            doubts[f"{anomaly.id} may only be a gap in the records: {why}"] = None
    return _withheld_result(result, tuple(kept), [*doubts]) if doubts else result


def _withheld_result(result: CheckerResult, kept: tuple[Anomaly, ...], doubts: list[str]) -> CheckerResult:
    """The result with only the kept anomalies, and with some doubts."""
    certain = any(one.illegal for one in kept)
    known = result.unknown_because or ""
    reasons = [*(doubt for doubt in doubts if doubt not in known), *([known] if known else [])]
    counts = _counts(result, kept)
    return msgspec.structs.replace(
        result,
        validity=Validity.INVALID if certain else Validity.UNKNOWN,
        anomalies=kept,
        counts=counts,
        tallies=tuple(one for one in result.tallies if counts.get(one.id) == result.counts[one.id]),
        unknown_because="; ".join(reasons),
        open_anomalies=(),
    )


def _counts(result: CheckerResult, kept: tuple[Anomaly, ...]) -> dict[str, int]:
    """Exact numbers if all examples were kept; otherwise the numbers of those that were kept."""
    left = Counter(one.id for one in kept)
    before = Counter(one.id for one in result.anomalies)
    exact = {
        rule: number if left[rule] == before[rule] else left[rule] for rule, number in result.counts.items()
    }
    return {rule: number for rule, number in exact.items() if number}
