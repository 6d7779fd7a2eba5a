"""Evidence from the nodes' disks: every node's metadata log, its records decoded by Kafka's own tool."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from checkers.history.replicas import METADATA_LOG, METADATA_TOPIC
from harness.cluster.tools import FILES_AT
from harness.errors import EngineError
from harness.evidence.replicas import as_value, read_disk
from harness.kafka.segments.dump import by_file, dump_command, records
from harness.record.journal import Recorder

FOLDER = "metadata"
"""Where copies of a node's metadata log lie in the node's folder of the run."""
DUMP_FILE = "metadata-log.txt"
"""What Kafka's tool printed of them, beside that folder."""
_PAPERS = "partition.metadata"
_LISTINGS_MAX = 5

Tool = Callable[[Path, Sequence[str]], str]
"""Runs a Kafka tool that finds a folder at `FILES_AT`; returns what it printed."""


class _Copy(NamedTuple):
    """Copies of one node's metadata log.

    Attributes:
        began_ns: when copying began, on the history's clock.
        folder: where they lie.
        segments: names of the log's files, in order.
        checkpoint: name of the newest snapshot, None where there is none.
        error: why there are no copies.
    """

    began_ns: int
    folder: Path
    segments: tuple[str, ...] = ()
    checkpoint: str | None = None
    error: str | None = None

    @property
    def files(self) -> list[str]:
        """Names of all that Kafka's tool can read."""
        return [*self.segments, *([self.checkpoint] if self.checkpoint else [])]


class _Printed(NamedTuple):
    """What the tool printed of each file, by the path that it was given; or why it printed nothing."""

    parts: dict[str, str]
    error: str | None = None

    def of(self, node: str, files: Sequence[str]) -> str:
        """What it printed of some of a node's files."""
        return "".join(self.parts.get(_inside(node, name), "") for name in files)


def gather_metadata_logs(
    recorder: Recorder, disks: Mapping[str, Path], nodes: Path, version: str, tool: Tool
) -> None:
    """Record every node's metadata log; copies of its files and what the tool printed of them are kept.

    Args:
        recorder: writes as an observer.
        disks: node name to the folder of its log directory.
        nodes: the folder of the run that has one for each node.
        version: Kafka's, which decides where the tool is found.
        tool: runs it.
    """
    now_ns = recorder.journal.clock.now_ns
    copies = {node: _copied(disk, nodes / node / FOLDER, now_ns()) for node, disk in disks.items()}
    printed = _print(nodes, copies, version, tool)
    for node, copy in copies.items():
        recorder.observe("observe", METADATA_LOG, _value(node, copy, printed), node=node)
        (nodes / node / DUMP_FILE).write_text(printed.of(node, copy.files))


def _copied(disk: Path, target: Path, began_ns: int) -> _Copy:
    """Copy a metadata log, so that the tool and we read the same bytes whatever the node does meanwhile."""
    try:
        contents = _contents(disk / f"{METADATA_TOPIC}-0")
    except OSError as error:
        return _Copy(began_ns, target, error=f"{type(error).__name__}: {error.strerror or error}")
    target.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (target / name).write_bytes(content)
    snapshots = [name for name in contents if name.endswith(".checkpoint")]
    segments = tuple(name for name in contents if name.endswith(".log"))
    return _Copy(began_ns, target, segments, snapshots[-1] if snapshots else None)


def _contents(folder: Path) -> dict[str, bytes]:
    """Segments, newest snapshot and papers by name, in the order of names.

    Raises:
        OSError: they can't be read, or are replaced all the time.
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


def _print(nodes: Path, copies: Mapping[str, _Copy], version: str, tool: Tool) -> _Printed:
    files = [_inside(node, name) for node, copy in copies.items() for name in copy.files]
    if not files:
        return _Printed({}, "no node has a metadata log")
    try:
        return _Printed(by_file(tool(nodes, dump_command(version, files))))
    except EngineError as error:
        return _Printed({}, " ".join(str(error).split()))


def _inside(node: str, name: str) -> str:
    """Where the tool finds a file."""
    return f"{FILES_AT}/{node}/{FOLDER}/{name}"


def _value(node: str, copy: _Copy, printed: _Printed) -> dict[str, Any]:
    """The value of an observation, as docs/histories.md gives it."""
    if copy.error is not None:
        told = {"topic": METADATA_TOPIC, "partition": 0, "count": 0, "batches": {}}
        return told | {"began_ns": copy.began_ns, "error": copy.error, "decoder_error": copy.error}
    reading = read_disk(copy.folder, lambda: copy.began_ns)
    return as_value(METADATA_TOPIC, 0, reading) | _decoded(node, copy, printed)


def _decoded(node: str, copy: _Copy, printed: _Printed) -> dict[str, Any]:
    """Records as the tool printed them."""
    nothing: dict[str, Any] = {"records": [], "checkpoint": None}
    if printed.error is not None:
        return nothing | {"decoder_error": printed.error}
    try:
        decoded = list(records(printed.of(node, copy.segments)))
        snapshot = copy.checkpoint and (copy.checkpoint, list(records(printed.of(node, [copy.checkpoint]))))
    except ValueError as error:
        return nothing | {"decoder_error": str(error)}
    return {"records": decoded, "checkpoint": snapshot, "decoder_error": None}
