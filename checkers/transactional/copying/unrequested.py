"""Final offsets of a group that no transaction tried to commit."""

from collections.abc import Iterator, Mapping

import msgspec

from checkers.history.commits import GroupFound
from checkers.history.operations import OK, History, Operation
from checkers.transactional.copying.anomalies import UNASKED
from checkers.verdict.verdict import Anomaly


def find_unrequested(history: History) -> Iterator[Anomaly]:
    """One finding for each partition and answer that reports such an offset.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    asked = _requested(history)
    for operation in history.of("committed-offsets"):
        if operation.type is OK:
            answer = msgspec.convert(operation.value, GroupFound)
            yield from _unrequested(operation, answer, asked.get((operation.key, answer.topic), {}))


def _unrequested(
    operation: Operation, answer: GroupFound, asked: Mapping[int, set[int]]
) -> Iterator[Anomaly]:
    """Offsets in one answer that were not requested.

    Another rule reports partitions without any request.
    """
    for partition, offset in answer.offsets:
        known = asked.get(partition)
        if offset is not None and known is not None and offset not in known:
            place = f"{answer.topic}/{partition}"
            yield UNASKED.found(
                f"Group {operation.key} continues at {offset} of {place}, which no transaction "
                "asked to commit.",
                subject=place,
                time_ns=operation.time_ns,
                witness=(operation.index,),
                explanation=(
                    f"Operation {operation.index} was answered with {offset}.",
                    f"The largest offset that a transaction asked to commit there is {max(known)}.",
                ),
            )


def _requested(history: History) -> dict[tuple[str, str], dict[int, set[int]]]:
    """All offsets that transactions requested to commit, by group and topic, and then by partition."""
    asked: dict[tuple[str, str], dict[int, set[int]]] = {}
    for operation in history.of("txn"):
        mops = operation.value["mops"] if operation.value is not None else ()
        for _, group, topic, offsets in (mop for mop in mops if mop[0] == "offsets"):
            for partition, offset in offsets:
                asked.setdefault((group, topic), {}).setdefault(partition, set()).add(offset)
    return asked
