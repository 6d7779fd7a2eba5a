"""Breaks of a share group: its members leave, and do not come back before the break ends."""

import threading

_LOOK_S = 0.05


class Break:
    """Lets one worker wait until all members of a group have left; several threads use it.

    Args:
        members: number of the group's members.
    """

    def __init__(self, members: int) -> None:
        self._members = members
        self._changed = threading.Condition()
        self._resting = 0
        self._called = False

    @property
    def is_called(self) -> bool:
        """Whether members must leave, and stay away."""
        with self._changed:
            return self._called

    def rest(self, stopping: threading.Event) -> None:
        """Stay away until the break ends, or the member is stopped; the member has left before."""
        with self._changed:
            self._resting += 1
            self._changed.notify_all()
            while self._called and not stopping.is_set():
                self._changed.wait(_LOOK_S)
            self._resting -= 1

    def call(self, stopping: threading.Event) -> bool:
        """Let the members leave; returns whether all have left, False if the caller is stopped first."""
        with self._changed:
            self._called = True
            while self._resting < self._members and not stopping.is_set():
                self._changed.wait(_LOOK_S)
            return self._resting == self._members

    def end(self) -> None:
        """Let the members return."""
        with self._changed:
            self._called = False
            self._changed.notify_all()
