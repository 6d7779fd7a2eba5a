"""The owner of a run: a process, identified by its id and start time."""

from pathlib import Path

import msgspec


class Owner(msgspec.Struct, frozen=True):
    """A process of this host.

    Attributes:
        pid: its process id.
        start_ticks: its start time, clock ticks since boot; a later process with this id has another.
    """

    pid: int
    start_ticks: int

    @property
    def is_alive(self) -> bool:
        """Whether this process still runs."""
        return start_ticks_of(self.pid) == self.start_ticks

    def label(self) -> str:
        """Its form in a container's label."""
        return f"{self.pid}:{self.start_ticks}"


def owner_from_label(text: str) -> Owner:
    """The inverse of `Owner.label`.

    Raises:
        ValueError: if the text does not have this form.
    """
    pid, _, ticks = text.partition(":")
    return Owner(pid=int(pid), start_ticks=int(ticks))


def start_ticks_of(pid: int) -> int | None:
    """Field 22 of ``/proc/PID/stat``, or None if there is no such process (or only a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name is in parentheses and may contain spaces and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    zombie = fields[0] == "Z"
    return None if zombie else int(fields[19])


def this_process(pid: int) -> Owner:
    """The owner record of a living process.

    Raises:
        ProcessLookupError: if there is no such process.
    """
    ticks = start_ticks_of(pid)
    if ticks is None:
        raise ProcessLookupError(f"no process {pid}")
    return Owner(pid=pid, start_ticks=ticks)
