"""Opens files of a store by their address; files outside of the store can't be reached.

Each folder of a path is opened relative to its parent, without following links.  So neither a name
nor a link nor a folder that is replaced at the same time gives access to files outside of the store.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import quote, unquote_to_bytes

_DEPTH_MAX = 32
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, because a pipe without a writer would block the browser forever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class StoredFile(NamedTuple):
    """A plain file below a folder.

    Attributes:
        path: names of its path, relative to that folder.
        size: size in bytes.
    """

    path: tuple[str, ...]
    size: int


def address(parts: Sequence[str]) -> str:
    """Names as part of an address; the inverse of `parts_of`."""
    return "/".join(quote(os.fsencode(part), safe="") for part in parts)


def parts_of(path: str) -> tuple[str, ...] | None:
    """The names in a part of an address; None if they can't be names in a store."""
    parts = tuple(os.fsdecode(unquote_to_bytes(part)) for part in path.split("/"))
    good = len(parts) <= _DEPTH_MAX and all(_is_name(part) for part in parts)
    return parts if good else None


def _is_name(part: str) -> bool:
    return part not in ("", ".", "..") and "/" not in part and "\0" not in part


def open_file(root: Path, parts: Sequence[str]) -> BinaryIO:
    """Open a plain file below a root.

    Args:
        root: an existing folder; it may be a link.
        parts: names of the path below it.

    Raises:
        OSError: if the file does not exist, or is a link or not a plain file.
    """
    with ExitStack() as opened:
        folder = _open_folder(root, parts[:-1], opened)
        handle = os.open(parts[-1], _FILE, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise FileNotFoundError(parts[-1])
        return os.fdopen(handle, "rb")


def files_below(root: Path, parts: Sequence[str]) -> list[StoredFile]:
    """Plain files below a folder of the root, by name; links are left out.

    Raises:
        OSError: if the folder does not exist.
    """
    with ExitStack() as opened:
        return sorted(_walk(_open_folder(root, parts, opened), (), _DEPTH_MAX))


def _open_folder(root: Path, parts: Sequence[str], opened: ExitStack) -> int:
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    opened.callback(os.close, handle)
    for part in parts:
        handle = os.open(part, _FOLDER, dir_fd=handle)
        opened.callback(os.close, handle)
    return handle


def _walk(handle: int, above: tuple[str, ...], depth: int) -> Iterator[StoredFile]:
    """Files of a folder, then those of its folders; unreadable folders are skipped."""
    with os.scandir(handle) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted meanwhile: a run may be in progress
            continue
        if stat.S_ISREG(found.st_mode):
            yield StoredFile((*above, entry.name), found.st_size)
        elif stat.S_ISDIR(found.st_mode) and depth > 0:
            yield from _enter(handle, entry.name, above, depth)


def _enter(handle: int, name: str, above: tuple[str, ...], depth: int) -> Iterator[StoredFile]:
    try:
        inside = os.open(name, _FOLDER, dir_fd=handle)
    except OSError:  # deleted meanwhile or not readable; a listing shows what is readable
        return
    try:
        yield from _walk(inside, (*above, name), depth - 1)
    finally:
        os.close(inside)
