"""Torn writes: a node is killed, and half a batch is appended to each of its logs.

A loss of power may leave such a batch if it interrupts a write; here every partition of the node has one.
Complete batches are not changed, so no record may be lost: the node finds the incomplete batch when it
starts, and has to truncate it.  The metadata log is not changed.
"""

import random
import re
import struct
from pathlib import Path

from harness.cluster.homes import NodeHome
from harness.errors import disk_errors_named
from harness.faults.activate import carries_out
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.disk import METADATA_FOLDER
from harness.faults.process import Restarting
from harness.faults.targets import Resolved
from harness.vocabulary.faults import TornWrite

_PARTITION = re.compile(r".+-\d+")
_BASE = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_LENGTH_AT = 8
_BODY_AT = _LENGTH_AT + _LENGTH.size
_LAST_DELTA_AT = 23


@carries_out(TornWrite)
class ActiveTornWrite(Restarting):
    """The node is killed, and each of its logs then ends with an incomplete batch."""

    def __init__(self, spec: TornWrite, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._home: NodeHome = bench.homes[resolved.node.name]
        self._source = random.Random(spec.draw)
        self._torn: dict[Path, int] = {}

    @disk_errors_named()
    def inject(self) -> None:
        """Kill the node, and append to the newest segment of every log."""
        self._containers.kill()
        for segment in sorted(_newest_segments(self._home)):
            piece = torn(segment.read_bytes(), self._source)
            if piece:
                with segment.open("ab") as log:
                    log.write(piece)
                self._torn[segment] = segment.stat().st_size

    @disk_errors_named()
    def took_effect(self) -> dict[str, object]:
        """Check that the node is down, and that a log ends with an incomplete batch."""
        ended = super().took_effect()
        if not self._torn:
            raise NotConfirmedError(f"{self.targets[0]} has no log with a batch")
        return ended | {"torn": len(self._torn)}


def torn(data: bytes, source: random.Random) -> bytes:
    """The first bytes of a batch that could follow a segment's last batch; empty if it has no batch."""
    position, last = 0, b""
    while position + _BODY_AT <= len(data):
        (length,) = _LENGTH.unpack_from(data, position + _LENGTH_AT)
        end = position + _BODY_AT + length
        if length <= 0 or end > len(data):
            break
        position, last = end, data[position:end]
    if not last:
        return b""
    (base,), (delta,) = _BASE.unpack_from(last), _LENGTH.unpack_from(last, _LAST_DELTA_AT)
    following = _BASE.pack(base + delta + 1) + last[_BASE.size :]
    return following[: source.randint(1, len(following) - 1)]


def _newest_segments(home: NodeHome) -> list[Path]:
    folders = [folder for disk in home.disks for folder in disk.iterdir() if folder.name != METADATA_FOLDER]
    logs = [sorted(folder.glob("*.log")) for folder in folders if _PARTITION.fullmatch(folder.name)]
    return [segments[-1] for segments in logs if segments]
