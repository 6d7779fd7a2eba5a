"""Draws cycles of transactions."""

import msgspec
from markupsafe import Markup

from checkers.transactional.transactions import draw_cycle
from checkers.transactional.transactions.proofs.judging import DrawnCycle
from checkers.verdict.verdict import Anomaly, CheckerResult, Verdict
from results.markup.cleaning import clean

Key = tuple[str, str, tuple[int, ...]]
"""Key of an anomaly: checker, anomaly id, witness."""


def key_of(checker: str, anomaly: Anomaly) -> Key:
    """The key by which the cycle of an anomaly is found."""
    return checker, anomaly.id, anomaly.witness


def cycles_of(verdict: Verdict) -> dict[Key, DrawnCycle]:
    """All cycles in the figures of a verdict, by anomaly."""
    return {
        (result.checker, cycle.id, cycle.witness): cycle
        for result in verdict.results
        for cycle in _cycles_of(result)
        if cycle.witness
    }


def drawing(cycle: DrawnCycle, text_limit: int) -> Markup:
    """A cycle as SVG without ids, with cleaned texts."""
    nodes = tuple(clean(node, text_limit) for node in cycle.nodes)
    reasons = tuple(clean(reason, text_limit) for reason in cycle.reasons)
    cleaned = msgspec.structs.replace(cycle, id=clean(cycle.id, 60), nodes=nodes, reasons=reasons)
    return Markup(draw_cycle(cleaned, standalone=False))  # noqa: S704 - it escapes every text itself


def _cycles_of(result: CheckerResult) -> list[DrawnCycle]:
    """The cycles in a result's figures; other versions of krucible may have none or another format."""
    try:
        return msgspec.convert(result.figures.get("cycles", []), list[DrawnCycle])
    except msgspec.ValidationError:
        return []
