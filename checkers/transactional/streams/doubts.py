"""Why rules about an application can't be decided."""

from collections.abc import Iterator, Mapping

from checkers.columns.tables import PartitionName
from checkers.history.operations import History
from checkers.history.sources import unassigned_damage
from checkers.transactional.streams.loading import Application


def doubts_of(history: History, loaded: Application) -> Iterator[str]:
    """Why some rules can't be decided.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        loaded: its application.
    """
    yield from unassigned_damage(history)
    if not loaded.topics.source or not loaded.topics.output:
        yield "the setup does not name the topics of the application"
    if loaded.unread:
        unread = ", ".join(f"{topic}/{number}" for topic, number in loaded.unread)
        yield f"{unread} was not read to the end"
    if not loaded.before:
        yield "the group's offsets are unknown from before the output was read"
    else:
        yield from _lacking(loaded, "before", loaded.before[-1].offsets)
    if loaded.after is None:
        yield "the group's offsets are unknown from after the output was read"
    else:
        yield from _lacking(loaded, "after", loaded.after.offsets)
    if strangers := {record.member for record in loaded.outputs} - loaded.named:
        yield f"no operation names {', '.join(sorted(strangers))}, which wrote output"
    yield from _beyond(loaded)
    yield from _late(loaded)


def _lacking(loaded: Application, when: str, offsets: Mapping[int, int]) -> Iterator[str]:
    """Partitions with records that an answer about the group's offsets leaves out."""
    wanted = {partition for partition, records in loaded.inputs.items() if records}
    wanted |= {record.place[0] for record in loaded.outputs}
    for partition in sorted(wanted - {*offsets}):
        where = PartitionName(loaded.topics.source, partition)
        yield f"the group's offset of {where} is unknown from {when} the output was read"


def _beyond(loaded: Application) -> Iterator[str]:
    """Offsets of the group above the end of the input; a truncation of the input may be the cause."""
    answers = [*loaded.before, *([] if loaded.after is None else [loaded.after])]
    for partition, end in sorted(loaded.ends.items()):
        highest = max((answer.offsets.get(partition, 0) for answer in answers), default=0)
        if highest > end:
            where = PartitionName(loaded.topics.source, partition)
            yield f"the group continues at {where}@{highest}, and final reads found its end at {end}"


def _late(loaded: Application) -> Iterator[str]:
    """Outputs for records that may have been appended to the input after its final reads."""
    late = {r.place[0]: r.place[1] for r in loaded.outputs if loaded.is_late(r.place)}
    for partition, offset in sorted(late.items()):
        where, end = PartitionName(loaded.topics.source, partition), loaded.ends[partition]
        yield f"an output stands for {where}@{offset}, and final reads found its end at {end}"
