"""Writes a run's folder as a ``.tar.gz`` while it is sent, so that its size does not matter."""

import io
import os
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from results.serve.store_files import files_below, open_file

LEFT_OUT_FILE = "left-out.txt"
"""The file in an archive that lists the files that could not be read."""


class Sink(Protocol):
    """Receiver of the bytes of an archive."""

    def write(self, data: bytes, /) -> object:
        """Receive a piece of data."""
        ...


def write_archive(root: Path, parts: Sequence[str], sink: Sink) -> None:
    """Write all plain files of a folder, under the folder's name, without owners.

    Files that can't be read are listed in the archive, in `LEFT_OUT_FILE`.

    Args:
        root: the store.
        parts: path of the folder in the store, as names.
        sink: receives the archive in pieces.

    Raises:
        OSError: if the folder does not exist, a file has become shorter, or the sink fails.
    """
    left_out: list[str] = []
    with tarfile.open(mode="w|gz", fileobj=sink, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]  # it only needs `write`
        for file in files_below(root, parts):
            try:
                opened = open_file(root, (*parts, *file.path))
            except OSError as error:
                left_out.append(f"{'/'.join(file.path)}: {error.strerror or 'no plain file any more'}\n")
                continue
            with opened:
                found = os.fstat(opened.fileno())
                archive.addfile(_member((parts[-1], *file.path), found.st_size, found.st_mtime), opened)
        if left_out:
            content = "".join(left_out).encode("utf-8", "backslashreplace")
            archive.addfile(
                _member((parts[-1], LEFT_OUT_FILE), len(content), time.time()), io.BytesIO(content)
            )


def _member(path: tuple[str, ...], size: int, changed_s: float) -> tarfile.TarInfo:
    member = tarfile.TarInfo("/".join(path))
    member.size, member.mtime, member.mode = size, int(changed_s), 0o644
    return member
