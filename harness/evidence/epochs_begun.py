"""Log lines that brokers write when they begin leader epochs.

kafka.cluster.Partition writes them at level INFO, through the logger ``state.change.logger``.
"""

import re
from collections.abc import Iterator

from checkers.history.logged import EpochBegun

_BEGUN = re.compile(
    r"(?P<at>\S+) INFO .*\[Broker id=\d+\] Leader (?P<topic>\S+)-(?P<partition>\d+) with topic id"
    r" (?:\w+[(\[])?(?P<id>[\w-]+)[)\]]? starts at leader epoch (?P<epoch>\d+) from offset (?P<start>\d+) "
    r".* previous leader epoch was (?P<previous>-?\d+)\."
)


def begun_epochs(log: str) -> Iterator[EpochBegun]:
    """Leader epochs that the broker began, in the order of their lines."""
    for number, line in enumerate(log.splitlines(), start=1):
        begun = _BEGUN.match(line)
        if begun is not None:
            yield EpochBegun(
                line=number,
                at=begun["at"],
                topic=begun["topic"],
                topic_id=begun["id"],
                partition=int(begun["partition"]),
                epoch=int(begun["epoch"]),
                start=int(begun["start"]),
                previous_epoch=int(begun["previous"]),
            )
