"""The state of each node's quorum-state file: leader, epoch and vote."""

import errno
from collections.abc import Mapping
from pathlib import Path

import msgspec

from checkers.history.quorum import QUORUM_STATE as KEY
from checkers.history.quorum import QuorumStateSeen
from harness.observers.observer import Observer
from harness.record.journal import Journals

QUORUM_STATE = Path("__cluster_metadata-0", "quorum-state")
META_PROPERTIES = "meta.properties"
_ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"


class _QuorumState(msgspec.Struct):
    """Kafka's ``quorum-state`` file, versions 0 and 1; fields that only one version has are optional."""

    leader_id: int = msgspec.field(name="leaderId", default=-1)
    leader_epoch: int = msgspec.field(name="leaderEpoch", default=-1)
    voted_id: int = msgspec.field(name="votedId", default=-1)
    voted_directory_id: str | None = msgspec.field(name="votedDirectoryId", default=None)


class QuorumStateObserver(Observer):
    """Reads the files of all nodes from the host.

    Args:
        journals: journals of the run.
        folders: each node's metadata log directory on the host.
        interval_s: time between observations, seconds.
    """

    def __init__(self, journals: Journals, folders: Mapping[str, Path], interval_s: float) -> None:
        super().__init__(journals, "observer-quorum-state", interval_s)
        self._folders = dict(folders)

    def look(self) -> None:
        """Read every node's files; files that can't be read completely now are read next time."""
        for node, folder in self._folders.items():
            seen = read_quorum_state(folder, self.clock.now_ns())
            if seen is not None:
                self.record_changes(KEY, node, seen)


def read_quorum_state(folder: Path, began_ns: int) -> QuorumStateSeen | None:
    """The disk's ids and the node's quorum-state, as an observation; None if there is none to read now.

    Args:
        folder: the node's log directory.
        began_ns: the time by the history's clock.

    Raises:
        OSError: the files are there but may not be read.
    """
    try:
        state = msgspec.json.decode((folder / QUORUM_STATE).read_bytes(), type=_QuorumState)
        meta = (folder / META_PROPERTIES).read_text()
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    except OSError as error:
        if error.errno == errno.EIO:  # a disk that lost power, or is dead, and is not mounted again
            return None
        raise
    return QuorumStateSeen(
        began_ns,
        directory_id=_property(meta, "directory.id"),
        cluster_id=_property(meta, "cluster.id"),
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        voted_id=state.voted_id,
        voted_directory_id=None if state.voted_directory_id == _ZERO_UUID else state.voted_directory_id,
    )


def _property(text: str, name: str) -> str | None:
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() == name:
            return value.strip()
    return None
