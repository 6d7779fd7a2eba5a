"""Log lines about cleanings: up to which offset a broker has compacted its logs.

Kafka's Cleaner writes these lines at level INFO, before it builds the map of the keys of a range.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"^\d{4}-\d\d-\d\dT\S+ [A-Z]+ .*$", re.MULTILINE)
_FIRST = "kafka.Log4jController MBean"
_FIRST_QUOTED = "kafka.Log4jController` MBean"
"""The first line that a Kafka process logs, as Log4jControllerRegistration writes it."""
_RANGE = re.compile(
    r"Building offset map for log (?P<topic>\S+)-(?P<partition>\d+) for \d+ segments in offset range"
    r" \[\d+, (?P<end>\d+)\)"
)


class LogCleaning(NamedTuple):
    """A log that was cleaned, the largest end of a range, and the number of its line."""

    topic: str
    partition: int
    end: int
    line: int


def cleanings(log: str) -> Iterator[LogCleaning]:
    """The farthest cleaning of each log."""
    farthest: dict[tuple[str, int], tuple[int, int]] = {}
    for number, line in enumerate(log.splitlines(), start=1):
        if match := _RANGE.search(line):
            name, end = (match["topic"], int(match["partition"])), int(match["end"])
            if end > farthest.get(name, (-1, 0))[0]:
                farthest[name] = (end, number)
    for (topic, partition), (end, number) in sorted(farthest.items()):
        yield LogCleaning(topic, partition, end, number)


def begins(log: str) -> bool:
    """Whether a log is complete at its beginning: an engine that limits the size of logs drops old lines."""
    first = _LINE.search(log)
    return first is None or _FIRST in first.group() or _FIRST_QUOTED in first.group()
