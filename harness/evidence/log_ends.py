"""Log lines about the ends of logs: when a log was loaded or truncated, and when an ISR shrank.

Kafka's LogLoader, LogManager, UnifiedLog and kafka.cluster.Partition write them at levels INFO and WARN.
"""

import re
from collections.abc import Iterator

import msgspec

from checkers.history.logged import IsrShrunk, LogCut, LogLoaded, LogTruncated
from checkers.history.replicas import METADATA_TOPIC

_START = "Registered signal handlers for TERM"
_LOADED = re.compile(
    r"(?P<at>\S+) INFO \[(?:main|log-recovery-[^\]]*)\] \[LogLoader"
    r" partition=(?P<topic>\S+)-(?P<partition>\d+), dir=[^\]]+\] Loading producer state till offset"
    r" (?P<end>\d+) "
)
_BEGINS = re.compile(
    r"\S+ INFO \[(?:main|log-recovery-[^\]]*)\] Completed load of Log\(.*topic=(?P<topic>[^,]+),"
    r" partition=(?P<partition>\d+), .*logStartOffset=(?P<start>\d+), logEndOffset=(?P<end>\d+)\)"
)
_SHRUNK = re.compile(
    r"(?P<at>\S+) INFO .*\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=\d+\] Shrinking ISR from"
    r" (?P<isr>[\d,]+) to .*Leader: \(highWatermark: (?P<mark>\d+), endOffset: (?P<end>\d+)\)\."
    r" Out of sync replicas: (?P<out>.*)"
)
_TRUNCATED = re.compile(
    r"(?P<at>\S+) WARN \[ReplicaFetcherThread-.*\] Truncating (?P<topic>\S+)-(?P<partition>\d+) to offset"
    r" (?P<end>\d+) below high watermark (?P<mark>\d+) "
)
_CUT = re.compile(
    r"(?P<at>\S+) INFO \[.*\] \[UnifiedLog partition=(?P<topic>\S+)-(?P<partition>\d+), dir=[^\]]+\]"
    r" Truncating to offset (?P<end>\d+) "
)
_OUT = re.compile(r"\(brokerId: (?P<id>\d+), endOffset: (?P<end>-?\d+)")


def log_ends(log: str) -> Iterator[LogLoaded | IsrShrunk | LogTruncated | LogCut]:
    """Entries of all kinds in the order of their lines; for each start, only the last line about each log.

    Loading logs the producers at the beginning of the unflushed segments too, and those at the end last.
    """
    entries: list[LogLoaded | IsrShrunk | LogTruncated | LogCut] = []
    loading: dict[tuple[str, int], LogLoaded] = {}
    for number, line in enumerate(log.splitlines(), start=1):
        if _START in line:
            entries += loading.values()
            loading = {}
        elif loaded := _LOADED.match(line):
            partition = int(loaded["partition"])
            found = LogLoaded(number, loaded["at"], loaded["topic"], partition, int(loaded["end"]))
            loading[found.topic, partition] = found
        elif begins := _BEGINS.match(line):
            loaded_log = loading.get((begins["topic"], int(begins["partition"])))
            if loaded_log is not None and loaded_log.end == int(begins["end"]):
                known = msgspec.structs.replace(loaded_log, start=int(begins["start"]))
                loading[known.topic, known.partition] = known
        elif shrunk := _SHRUNK.match(line):
            entries.append(_shrunk(number, shrunk))
        elif cut := _TRUNCATED.match(line):
            where, end = (cut["topic"], int(cut["partition"])), int(cut["end"])
            entries.append(LogTruncated(number, cut["at"], *where, end, int(cut["mark"])))
        elif (cut := _CUT.match(line)) and cut["topic"] != METADATA_TOPIC:
            where = cut["topic"], int(cut["partition"])
            entries.append(LogCut(number, cut["at"], *where, int(cut["end"])))
    yield from sorted([*entries, *loading.values()], key=lambda entry: entry.line)


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
