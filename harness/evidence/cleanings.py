"""Log lines about cleanings: up to where a broker has compacted its logs.

The words are those of Kafka's Cleaner, at level INFO, before it builds the map of the keys of a range.
"""

import re
from collections.abc import Iterator

_RANGE = re.compile(
    r"Building offset map for log (?P<topic>\S+)-(?P<partition>\d+) for \d+ segments in offset range"
    r" \[\d+, (?P<end>\d+)\)"
)


def cleanings(log: str) -> Iterator[tuple[str, int, int, int]]:
    """Topic, partition, largest end of a range, and the number of its line, of each log that was cleaned."""
    farthest: dict[tuple[str, int], tuple[int, int]] = {}
    for number, line in enumerate(log.splitlines(), start=1):
        if told := _RANGE.search(line):
            name, end = (told["topic"], int(told["partition"])), int(told["end"])
            if end > farthest.get(name, (-1, 0))[0]:
                farthest[name] = (end, number)
    for (topic, partition), (end, number) in sorted(farthest.items()):
        yield topic, partition, end, number
