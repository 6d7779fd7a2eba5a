"""A node's files on the host: its configuration and format for the next start, and its disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

PROPERTIES_FILE = "server.properties"
FORMAT_FILE = "format-arguments"
DIRECTORY_IDS_FILE = "directory-ids"
META_PROPERTIES = "meta.properties"
_DIRECTORY_ID = "directory.id"
_NEWCOMER = "--no-initial-controllers"
_STANDALONE = "--standalone"
_INITIAL = "--initial-controllers"


class NodeHome(msgspec.Struct, frozen=True):
    """The places of one node's files.

    Attributes:
        folder: the node's folder within the run's, which it reads at every start.
        disk: its first log directory, which has the metadata.
        more_disks: its other log directories.
    """

    folder: Path
    disk: Path
    more_disks: tuple[Path, ...] = ()

    @property
    def disks(self) -> tuple[Path, ...]:
        """All log directories, in the node's order."""
        return (self.disk, *self.more_disks)

    def properties(self) -> dict[str, str]:
        """The content of server.properties.

        Raises:
            OSError: it can't be read.
        """
        return _pairs((self.folder / PROPERTIES_FILE).read_text())

    def set_properties(self, overrides: Mapping[str, str | None]) -> None:
        """Change server.properties for the node's next start; None takes a property out.

        Raises:
            OSError: it can't be read or written.
        """
        path = self.folder / PROPERTIES_FILE
        kept = [line for line in path.read_text().splitlines() if line.partition("=")[0] not in overrides]
        added = [f"{key}={value}" for key, value in overrides.items() if value is not None]
        path.write_text("\n".join([*kept, *added]) + "\n")

    def format_arguments(self) -> list[str]:
        """The arguments that format an empty disk at the node's next start.

        Raises:
            OSError: it can't be read.
        """
        return (self.folder / FORMAT_FILE).read_text().split()

    def set_format_arguments(self, arguments: Sequence[str]) -> None:
        """Change the arguments that format an empty disk; a formatted disk does not change.

        Raises:
            OSError: it can't be written.
        """
        (self.folder / FORMAT_FILE).write_text(" ".join(arguments) + "\n")

    def set_directory_ids(self, directory_ids: Sequence[str]) -> None:
        """Set the ids of the disks, in their order, for after formatting; without any, formatting draws them.

        Raises:
            OSError: it can't be written.
        """
        path = self.folder / DIRECTORY_IDS_FILE
        if directory_ids:
            path.write_text("\n".join(directory_ids) + "\n")
        else:
            path.unlink(missing_ok=True)

    def directory_id(self) -> str | None:
        """The current id of the first disk; see `directory_id_of`."""
        return directory_id_of(self.disk)


def directory_id_of(disk: Path) -> str | None:
    """The id of a log directory; None if it is not formatted, or was by a version without such ids.

    Raises:
        OSError: it can't be read.
    """
    path = disk / META_PROPERTIES
    return _pairs(path.read_text()).get(_DIRECTORY_ID) if path.exists() else None


def disk_with(disks: Sequence[Path], folder: str) -> Path:
    """The log directory that has a partition's folder, or may have it; the first one if none has it."""
    possible = [disk for disk in disks if may_be_folder(disk / folder)]
    return next((disk for disk in possible if is_folder(disk / folder)), (*possible, *disks)[0])


def is_folder(path: Path) -> bool:
    """Whether a folder is certainly there; a disk that lost power, or is dead, answers with an error."""
    try:
        return path.is_dir()
    except OSError:
        return False


def may_be_folder(path: Path) -> bool:
    """Whether a folder is there, or its disk can't be read: then reading the folder reports the error."""
    try:
        return path.is_dir()
    except OSError:
        return True


def as_newcomer(arguments: Sequence[str]) -> list[str]:
    """Arguments for a disk that no voter set contains: a voter of a dynamic quorum returns as an observer."""
    if _STANDALONE in arguments:
        return [_NEWCOMER if each == _STANDALONE else each for each in arguments]
    if _INITIAL not in arguments:
        return list(arguments)
    at = arguments.index(_INITIAL)
    return [*arguments[:at], _NEWCOMER, *arguments[at + 2 :]]


def as_initial(arguments: Sequence[str], voter: str) -> list[str]:
    """Arguments that give a standalone voter its old directory id; ``--standalone`` would draw a new one.

    Args:
        arguments: the current arguments.
        voter: ``id@host:port:directory-id``.
    """
    if _STANDALONE not in arguments:
        return list(arguments)
    at = arguments.index(_STANDALONE)
    return [*arguments[:at], _INITIAL, voter, *arguments[at + 1 :]]


def _pairs(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in lines}
