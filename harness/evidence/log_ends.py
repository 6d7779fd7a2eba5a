"""Log lines about the ends of logs: when a log was loaded, an ISR shrank, or a leader epoch began.

The words are those of Kafka's LogLoader and UnifiedLog, and of kafka.cluster.Partition, at level INFO.
"""

import re
from collections.abc import Iterator
from itertools import islice

from checkers.history.logged import EpochBegun, IsrShrunk, LogLoaded

ENTRIES_MAX = 5_000
"""Entries that one node's log may have in a history; a start has one for each log."""

_START = "Registered signal handlers for TERM"
_LOADED = re.compile(
    r"(?P<at>\S+) INFO \[(?:main|log-recovery-[^\]]*)\] \[LogLoader"
    r" partition=(?P<topic>\S+)-(?P<partition>\d+), dir=[^\]]+\] Loading producer state till offset"
    r" (?P<end>\d+) "
)
_SHRUNK = re.compile(
    r"(?P<at>\S+) INFO .*\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=\d+\] Shrinking ISR from"
    r" (?P<isr>[\d,]+) to .*Leader: \(highWatermark: (?P<mark>\d+), endOffset: (?P<end>\d+)\)\."
    r" Out of sync replicas: (?P<out>.*)"
)
_BEGUN = re.compile(
    r"(?P<at>\S+) INFO .*\[Broker id=\d+\] Leader (?P<topic>\S+)-(?P<partition>\d+) with topic id"
    r" (?:\w+[(\[])?(?P<id>[\w-]+)[)\]]? starts at leader epoch (?P<epoch>\d+) from offset (?P<start>\d+) "
    r".* previous leader epoch was (?P<previous>-?\d+)\."
)
_OUT = re.compile(r"\(brokerId: (?P<id>\d+), endOffset: (?P<end>-?\d+)")


def log_ends(log: str) -> Iterator[LogLoaded | IsrShrunk]:
    """Entries of both kinds, the first `ENTRIES_MAX`; of a start the last line about each log.

    Loading looks at the producers of a log where its unflushed segments begin, too, and at its end last.
    """
    entries: list[LogLoaded | IsrShrunk] = []
    loading: dict[tuple[str, int], LogLoaded] = {}
    for number, line in enumerate(log.splitlines(), start=1):
        if _START in line:
            entries += loading.values()
            loading = {}
        elif loaded := _LOADED.match(line):
            partition = int(loaded["partition"])
            found = LogLoaded(number, loaded["at"], loaded["topic"], partition, int(loaded["end"]))
            loading[found.topic, partition] = found
        elif shrunk := _SHRUNK.match(line):
            entries.append(_shrunk(number, shrunk))
    yield from sorted([*entries, *loading.values()], key=lambda entry: entry.line)[:ENTRIES_MAX]


def begun_epochs(log: str) -> Iterator[EpochBegun]:
    """Leader epochs that the broker began, the first `ENTRIES_MAX`."""
    found = ((number, _BEGUN.match(line)) for number, line in enumerate(log.splitlines(), start=1))
    for number, begun in islice(((number, begun) for number, begun in found if begun), ENTRIES_MAX):
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


def _shrunk(number: int, told: re.Match[str]) -> IsrShrunk:
    return IsrShrunk(
        line=number,
        at=told["at"],
        topic=told["topic"],
        partition=int(told["partition"]),
        isr=tuple(int(each) for each in told["isr"].split(",")),
        high_watermark=int(told["mark"]),
        end=int(told["end"]),
        out=tuple((int(each["id"]), int(each["end"])) for each in _OUT.finditer(told["out"])),
    )
