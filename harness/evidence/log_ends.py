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
_RAFT_STARTED = "[RaftManager "
"""A node that logs this has loaded its metadata log, for which Kafka has no line of its own."""
_OUT = re.compile(r"\(brokerId: (?P<id>\d+), endOffset: (?P<end>-?\d+)")


def log_ends(log: str) -> Iterator[LogLoaded | IsrShrunk | LogTruncated | LogCut]:
    """Entries of all kinds in the order of their lines; for each start, only the last line about each log.

    Loading logs the producers at the beginning of the unflushed segments too, and those at the end last.
    So a log whose loading did not end, because the process was killed meanwhile, has no entry.
    """
    entries: list[LogLoaded | IsrShrunk | LogTruncated | LogCut] = []
    loading: dict[tuple[str, int], LogLoaded] = {}
    complete: dict[tuple[str, int], LogLoaded] = {}
    for number, line in enumerate(log.splitlines(), start=1):
        if _START in line:
            entries += complete.values()
            loading, complete = {}, {}
        elif loaded := _LOADED.match(line):
            partition = int(loaded["partition"])
            found = LogLoaded(number, loaded["at"], loaded["topic"], partition, int(loaded["end"]))
            loading[found.topic, partition] = found
        elif begins := _BEGINS.match(line):
            name = begins["topic"], int(begins["partition"])
            if (ended := loading.pop(name, None)) is not None:
                start = int(begins["start"]) if ended.end == int(begins["end"]) else None
                complete[name] = msgspec.structs.replace(ended, start=start)
        elif _RAFT_STARTED in line:
            complete |= {name: loading.pop(name) for name in [*loading] if name[0] == METADATA_TOPIC}
        elif shrunk := _SHRUNK.match(line):
            entries.append(_shrunk(number, shrunk))
        elif cut := _TRUNCATED.match(line):
            where, end = (cut["topic"], int(cut["partition"])), int(cut["end"])
            entries.append(LogTruncated(number, cut["at"], *where, end, int(cut["mark"])))
        elif (cut := _CUT.match(line)) and cut["topic"] != METADATA_TOPIC:
            where = cut["topic"], int(cut["partition"])
            entries.append(LogCut(number, cut["at"], *where, int(cut["end"])))
    yield from sorted([*entries, *complete.values()], key=lambda entry: entry.line)


def _shrunk(number: int, match: re.Match[str]) -> IsrShrunk:
    return IsrShrunk(
        line=number,
        at=match["at"],
        topic=match["topic"],
        partition=int(match["partition"]),
        isr=tuple(int(each) for each in match["isr"].split(",")),
        high_watermark=int(match["mark"]),
        end=int(match["end"]),
        out=tuple((int(each["id"]), int(each["end"])) for each in _OUT.finditer(match["out"])),
    )
