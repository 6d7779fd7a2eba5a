"""Drawings of the cycles of transactions, for a page with several of them."""

import msgspec
from markupsafe import Markup

from checkers.transactional.transactions import draw_cycle
from checkers.transactional.transactions.proofs.judging import DrawnCycle
from checkers.verdict.verdict import Anomaly, CheckerResult, Verdict
from results.markup.cleaning import clean

Key = tuple[str, str, tuple[int, ...]]
"""A checker, the id of an anomaly of its, and the anomaly's witness."""


def key_of(checker: str, anomaly: Anomaly) -> Key:
    """What an anomaly's cycle is found by."""
    return checker, anomaly.id, anomaly.witness


def cycles_of(verdict: Verdict) -> dict[Key, DrawnCycle]:
    """Every cycle in the verdict's figures, by its anomaly."""
    return {
        (result.checker, cycle.id, cycle.witness): cycle
        for result in verdict.results
        for cycle in _cycles_of(result)
        if cycle.witness
    }


def drawing(cycle: DrawnCycle, text_limit: int) -> Markup:
    """One cycle as SVG without ids; its texts are clean."""
    nodes = tuple(clean(node, text_limit) for node in cycle.nodes)
    reasons = tuple(clean(reason, text_limit) for reason in cycle.reasons)
    cleaned = msgspec.structs.replace(cycle, id=clean(cycle.id, 60), nodes=nodes, reasons=reasons)
    return Markup(draw_cycle(cleaned, standalone=False))  # noqa: S704 - it escapes every text itself


def _cycles_of(result: CheckerResult) -> list[DrawnCycle]:
    """The cycles among a result's figures; results of another krucible may lack them or differ in format."""
    try:
        return msgspec.convert(result.figures.get("cycles", []), list[DrawnCycle])
    except msgspec.ValidationError:
        return []
