"""The highest offsets that the members of share groups received, for the one that drains a group."""

import threading


class HighestOffsets:
    """The highest offset of each group and partition; several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offsets: dict[tuple[str, int], int] = {}

    def received(self, group: str, partition: int, offset: int) -> None:
        """Note that a member of the group received a record."""
        with self._lock:
            key = group, partition
            self._offsets[key] = max(offset, self._offsets.get(key, -1))

    def begins(self, group: str, partition: int, start: int) -> None:
        """Note that the group begins again at a start offset: it has received only what is below it."""
        with self._lock:
            self._offsets[group, partition] = start - 1

    def of(self, group: str, partition: int) -> int:
        """The highest offset that a member of the group received; -1 if none did."""
        with self._lock:
            return self._offsets.get((group, partition), -1)
