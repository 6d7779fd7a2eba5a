"""Events that remove records below an offset: DeleteRecords, and retention."""

from collections.abc import Iterator

from checkers.administration import requests_of
from checkers.columns import NEVER, PartitionName
from checkers.history import INFO, OK
from checkers.licences.permits import Event
from checkers.licences.scene import Scene


def deletions(scene: Scene) -> Iterator[Event]:
    """Every DeleteRecords request that was granted, or may have been."""
    for request in requests_of(scene.history, "delete-records"):
        if request.failed:
            continue
        for number, below in request.began.value:
            where = PartitionName(request.began.key, number)
            asked = f"operation {request.began.index} asked to delete the records of {where}"
            yield Event(request.from_ns, request.to_ns, where, f"{asked} below offset {below}", below)


def log_starts(scene: Scene) -> Iterator[Event]:
    """Where the logs that begin above offset 0 begin in the end, as the final reads listed it."""
    starts: dict[PartitionName, int] = {}
    for operation in scene.history.of("final-read"):
        if operation.type in {OK, INFO}:
            where = PartitionName(operation.key, operation.value["partition"])
            starts[where] = max(starts.get(where, 0), operation.value.get("start") or 0)
    for where, start in starts.items():
        if start:
            yield Event(0, NEVER, where, f"the log of {where} begins at offset {start} in the end", start)
