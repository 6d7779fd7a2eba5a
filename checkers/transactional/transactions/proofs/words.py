"""Converts values to texts, and a front's findings to a result."""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from checkers.transactional.transactions.models.consistency import ConsistencyModel, not_weaker
from checkers.transactional.transactions.proofs.judging import DrawnCycle, GraphResult, models_ruled_out
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

LIST_SHOWN = 12
"""Elements of a list that a proof shows; a longer list is shown by its first three and last eight."""
VALUE_CHARACTERS = 80
"""Longest text of one value."""


def shown(value: object) -> str:
    """A value as text of bounded length."""
    if value is None:
        return "nil"
    if isinstance(value, list | tuple):
        texts = [shown(each) for each in (value if len(value) <= LIST_SHOWN else (*value[:3], *value[-8:]))]
        if len(value) > LIST_SHOWN:
            texts.insert(3, "…")
        return f"[{' '.join(texts)}]"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 1]}…"


def micro_operations(value: Iterable[Iterable[object]]) -> str:
    """A transaction as its micro-operations, such as ``{append x 3, r y [1 2]}``."""
    return f"{{{', '.join(' '.join(shown(part) for part in each) for each in value)}}}"


def drawings(drawn: Iterable[DrawnCycle]) -> list[object]:
    """Cycles as figures of a result, for `checkers.transactional.transactions.proofs.drawing.draw_cycle`."""
    return [msgspec.json.decode(msgspec.json.encode(each)) for each in drawn]


def _ruled_out(counts: dict[str, int], model: ConsistencyModel) -> list[str]:
    """All models that a history violates.

    An anomaly that only a search found violates the requested model.
    """
    found = set(models_ruled_out(counts))
    found |= {each.value for each in not_weaker(model)} if "no-version-order" in counts else set()
    return [each.value for each in ConsistencyModel if each.value in found]


def result_with(
    checker: str,
    judged: GraphResult,
    others: tuple[list[Anomaly], dict[str, int]],
    unsettled: Callable[[], list[Anomaly]],
    *,
    sizes: dict[str, int],
    doubts: list[str],
    model: ConsistencyModel,
) -> CheckerResult:
    """The result of a front.

    Args:
        checker: the checker's name.
        judged: the result of the graph.
        others: anomalies that need no graph, and the exact number of each id.
        unsettled: finds the anomaly of a history that no version order explains; called only if nothing else
            is illegal.
        sizes: numbers of judged transactions and operations.
        doubts: why it can't decide, if nothing illegal was found.
        model: the model by which it judged.
    """
    anomalies = [*judged.anomalies, *others[0]]
    more = [] if any(anomaly.illegal for anomaly in anomalies) else unsettled()
    # A cycle of one transaction is found without the graph, and counts like the others of its class.
    counts = dict(Counter(judged.counts) + Counter(others[1]) + Counter(each.id for each in more))
    figures = {
        **sizes,
        **judged.figures,
        "model": model.value,
        "models_ruled_out": _ruled_out(counts, model),
        "cycles": drawings(judged.drawn),
    }
    return result_of(
        checker,
        [*anomalies, *more],
        counts=counts,
        figures=figures,
        unknown_because="; ".join(doubts) or None,
    )
