"""Describes operations of share groups, of transactions and of groups as text: what was asked, what came.

Values have the fields of docs/histories.md.  A value of another shape raises what its access raises; the
caller then shows its fields.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from checkers.history.operations import Operation
from checkers.history.transactions import sends_of
from results.markup.cleaning import clean_value
from results.report.reading.fields import counts_text

_TEXT = 40
_PLACES_MAX = 4


class RecordContext(NamedTuple):
    """The relevant partition and offset; each may be None."""

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


TextOf = Callable[[Operation, RecordContext], str]


def _share_poll(operation: Operation, _: RecordContext) -> str:
    return f"poll {operation.key} for share group {operation.value['group']}"


def _acknowledge(operation: Operation, _: RecordContext) -> str:
    return f"acknowledge {_acknowledgements(operation)}"


def _acknowledged(operation: Operation, _: RecordContext) -> str:
    refused = [f"partition {number}: {error}" for number, error in operation.value["refused"]]
    text = f"acknowledged {_acknowledgements(operation)}"
    return text if not refused else f"{text}; refused: {'; '.join(refused)}"


def _acknowledgements(operation: Operation) -> str:
    types = Counter(str(kind) for _, _, kinds in operation.value["acknowledgements"] for kind in kinds)
    total = types.total()
    return f"{total:,} record{'' if total == 1 else 's'} of {operation.key} ({counts_text(types)})"


def _txn(operation: Operation, around: RecordContext) -> str:
    parts = [*_sends(operation, around), *_others(operation)]
    return f"transaction of {operation.key}: {', '.join([*parts, operation.value['end']])}"


def _ended(operation: Operation, around: RecordContext) -> str:
    value = operation.value
    ended = {"commit": "committed", "abort": "aborted"}.get(value["ended"], str(value["ended"]))
    return ", ".join([f"transaction {ended}", *_sends(operation, around)])


def _sends(operation: Operation, around: RecordContext) -> Iterator[str]:
    """The records that a transaction sends: one at the relevant place, else the first; and their number."""
    sends = sends_of(operation)
    if not sends:
        return
    here = [mop for mop in sends if (mop[1], mop[2]) == (around.topic, around.partition)]
    at = [mop for mop in here if around.offset is not None and around.offset in mop[4:]]
    chosen = (at or here or sends)[0]
    offset = "" if len(chosen) <= 4 or chosen[4] is None else f"@{chosen[4]}"  # noqa: PLR2004 - the offset
    yield f"{clean_value(chosen[3], _TEXT)} to {chosen[1]}/{chosen[2]}{offset}"
    if len(sends) > 1:
        yield f"{len(sends) - 1:,} more sends"


def _others(operation: Operation) -> Iterator[str]:
    counts = Counter(mop[0] for mop in operation.value["mops"] if mop[0] != "send")
    yield from (f"{count:,} {name}" for name, count in counts.items())


def _commit(operation: Operation, _: RecordContext) -> str:
    return f"commit for group {operation.key}: {_offsets(operation)}"


def _committed(operation: Operation, _: RecordContext) -> str:
    return f"committed {_offsets(operation)}"


def _offsets(operation: Operation) -> str:
    value = operation.value
    places = [f"{value['topic']}/{number} at {offset}" for number, offset, *_ in value["offsets"]]
    more = f" and {len(places) - _PLACES_MAX:,} more" if len(places) > _PLACES_MAX else ""
    return (", ".join(places[:_PLACES_MAX]) or "no offset") + more


def _assign(operation: Operation, _: RecordContext) -> str:
    places = [f"{operation.key}/{number} from {offset}" for number, offset in operation.value]
    more = f" and {len(places) - _PLACES_MAX:,} more" if len(places) > _PLACES_MAX else ""
    return f"assigned {', '.join(places[:_PLACES_MAX]) or 'nothing'}{more}"


REQUESTS: dict[str, TextOf] = {
    "share-poll": _share_poll,
    "acknowledge": _acknowledge,
    "txn": _txn,
    "commit": _commit,
    "assign": _assign,
}
"""Texts of requests, by operation."""
ANSWERS: dict[str, TextOf] = {
    "acknowledge": _acknowledged,
    "txn": _ended,
    "commit": _committed,
    "assign": _assign,
}
"""Texts of answers, by operation."""
