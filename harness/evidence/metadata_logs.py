"""Evidence from disks: every node's metadata log, decoded for checkers and printed for people."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.replicas import (
    METADATA_LOG,
    METADATA_TOPIC,
    MetadataLogSeen,
    MetadataLogUncopied,
    MetadataLogUnread,
    ReplicaSeen,
)
from harness.evidence.replicas import read_disk, seen_of
from harness.kafka.metadata.printing import printed
from harness.kafka.metadata.reading import FileReader, MetadataFile
from harness.record.journal import Recorder

FOLDER = "metadata"
"""Name of the folder for copies of a node's metadata log, within the node's folder of the run."""
DUMP_FILE = "metadata-log.txt"
"""The metadata logs as text, next to that folder."""
_PAPERS = "partition.metadata"
_LISTINGS_MAX = 5


class _Copy(NamedTuple):
    """Copies of one node's metadata log.

    Attributes:
        began_ns: time when copying began, on the history's clock.
        folder: folder of the copies.
        contents: the log's files and its newest snapshot by their names, in order.
        error: reason why there are no copies.
    """

    began_ns: int
    folder: Path
    contents: Mapping[str, bytes] = {}
    error: str | None = None


def gather_metadata_logs(recorder: Recorder, disks: Mapping[str, Path], nodes: Path) -> None:
    """Record every node's metadata log; copies of its files and their content as text are kept.

    Args:
        recorder: writes as an observer.
        disks: node name to the folder of its log directory.
        nodes: the folder of the run that has a folder for each node.
    """
    now_ns = recorder.journal.clock.now_ns
    copies = {node: _copied(disk, nodes / node / FOLDER, now_ns()) for node, disk in disks.items()}
    reader = FileReader()
    for node, copy in copies.items():
        files = {name: reader.read(content) for name, content in copy.contents.items()}
        recorder.observe("observe", METADATA_LOG, _seen(copy, files), node=node)
        with (nodes / node / DUMP_FILE).open("w") as text:
            for name, file in files.items():
                text.writelines(f"{line}\n" for line in printed(f"{FOLDER}/{name}", file))


def _copied(disk: Path, target: Path, began_ns: int) -> _Copy:
    """Copy a metadata log, so that all readers get the same bytes while the node writes."""
    try:
        contents = _contents(disk / f"{METADATA_TOPIC}-0")
    except OSError as error:
        return _Copy(began_ns, target, error=f"{type(error).__name__}: {error.strerror or error}")
    target.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (target / name).write_bytes(content)
    contents.pop(_PAPERS, None)
    return _Copy(began_ns, target, contents)


def _contents(folder: Path) -> dict[str, bytes]:
    """Segments, newest snapshot and ``partition.metadata`` by name, sorted by name.

    Raises:
        OSError: they can't be read, or they are replaced all the time.
    """
    for _ in range(_LISTINGS_MAX):
        names = sorted(path.name for path in folder.iterdir())
        segments = [name for name in names if name.endswith(".log")]
        snapshots = [name for name in names if name.endswith(".checkpoint")]
        papers = [name for name in names if name == _PAPERS]
        try:
            return {name: (folder / name).read_bytes() for name in [*segments, *snapshots[-1:], *papers]}
        except FileNotFoundError as error:  # deleted since: a snapshot replaces what is older
            last = error
    raise last


def _seen(
    copy: _Copy, files: Mapping[str, MetadataFile]
) -> MetadataLogSeen | MetadataLogUnread | MetadataLogUncopied:
    """The value of an observation, as docs/histories.md gives it."""
    if copy.error is not None:
        return MetadataLogUncopied(began_ns=copy.began_ns, error=copy.error, decoder_error=copy.error)
    log = seen_of(METADATA_TOPIC, 0, read_disk(copy.folder, lambda: copy.began_ns))
    kind = MetadataLogSeen if isinstance(log, ReplicaSeen) else MetadataLogUnread
    problems = [f"{name}: {file.problem}" for name, file in files.items() if file.problem is not None]
    if problems or not files:
        error = problems[0] if problems else "the node has no metadata log"
        return kind(**msgspec.structs.asdict(log), decoder_error=error)
    records = [
        record for name, file in files.items() if name.endswith(".log") for record in file.journal_records()
    ]
    snapshots = [
        (name, file.journal_records()) for name, file in files.items() if name.endswith(".checkpoint")
    ]
    return kind(
        **msgspec.structs.asdict(log), records=records, checkpoint=snapshots[0] if snapshots else None
    )
