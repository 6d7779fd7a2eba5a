"""Events that remove records below an offset: DeleteRecords, and retention."""

from collections.abc import Iterator

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.administration import requests_of
from checkers.history.operations import INVOKE
from checkers.history.polls import final_limits
from checkers.history.sends import SendRead, is_answered
from checkers.history.setup import Topic
from checkers.history.units import NS_PER_MS
from checkers.licences.facts import Facts
from checkers.licences.permits import LicenceEvent

_CLOCKS_NS = 1_000_000_000
"""How far the host's clock may be set off while the run's own clock continues."""


def deletions(facts: Facts) -> Iterator[LicenceEvent]:
    """Every DeleteRecords request that was accepted, or may have been."""
    for request in requests_of(facts.history, "delete-records"):
        if request.failed:
            continue
        for number, below in request.began.value:
            where = PartitionName(request.began.key, number)
            asked = f"operation {request.began.index} asked to delete the records of {where}"
            yield LicenceEvent(request.from_ns, request.to_ns, where, f"{asked} below offset {below}", below)


def log_starts(facts: Facts) -> Iterator[LicenceEvent]:
    """Where logs that start above offset 0 start at the end of the run, by the final reads' lists.

    If only age limits what a topic keeps, a segment is deleted once its youngest record is too old
    (``retention.ms``).  So records at or above a record that is still within that age must not be deleted.
    """
    starts: dict[PartitionName, tuple[int, int]] = {}
    for operation, read in final_limits(facts.history):
        where = PartitionName(operation.key, read.partition)
        starts[where] = max(starts.get(where, (0, 0)), (read.start or 0, operation.time_ns))
    ages_ns = {topic.name: age_ns for topic in facts.setup.topics if (age_ns := _age_ns(topic)) is not None}
    young_from_ns = {
        where: read_ns - ages_ns[where.topic] + _CLOCKS_NS
        for where, (start, read_ns) in starts.items()
        if start and where.topic in ages_ns
    }
    young = _first_sent_since(facts, young_from_ns)
    for where, (start, _) in starts.items():
        if start:
            below = min(start, young.get(where, start))
            yield LicenceEvent(
                0, NEVER, where, f"at the end the log of {where} begins at offset {start}", below
            )


def _age_ns(topic: Topic) -> int | None:
    """How long a topic keeps its records; None if age is not the only limit."""
    age, size = (str(topic.config.get(name, "-1")) for name in ("retention.ms", "retention.bytes"))
    return int(age) * NS_PER_MS if size == "-1" and age.isdigit() else None


def _first_sent_since(facts: Facts, since_ns: dict[PartitionName, int]) -> dict[PartitionName, int]:
    """The lowest offset of acknowledged records, by partition, whose send started after a time.

    A producer sets the timestamps of its records, so they are not older than the send.
    """
    begun_ns: dict[int | str, int] = {}
    first: dict[PartitionName, int] = {}
    for operation in facts.history.of("send") if since_ns else ():
        if operation.type is INVOKE:
            begun_ns[operation.process] = operation.time_ns
            continue
        at_ns = begun_ns.pop(operation.process, 0)
        for number, offset in _acknowledged(operation.value):
            where = PartitionName(operation.key, number)
            if at_ns > since_ns.get(where, at_ns):
                first[where] = min(offset, first.get(where, offset))
    return first


def _acknowledged(value: SendRead | None) -> Iterator[tuple[int, int]]:
    """Partition and offset of each acknowledged record in a completion.

    For a run of records, the lowest offset.
    """
    if value is None or not is_answered(value):
        return
    if isinstance(value, dict):
        yield value["partition"], min(offset for offset, _ in value["offsets"])
    else:
        yield from ((entry[0], entry[2]) for entry in value if entry[3] == "ok" and entry[2] is not None)
