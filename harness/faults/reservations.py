"""Reserves nodes for faults, so that a blink and a fault of the schedule never share a node."""

import threading
from collections.abc import Iterable


class Reservations:
    """Records which fault has which node; safe to share between threads.

    Faults of the schedule have priority: they reserve a node at once.  If a blink has borrowed it, the
    blink is asked to end, and they wait until it has.  A blink borrows only free nodes.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reserved: dict[str, frozenset[str]] = {}
        self._lent: frozenset[str] = frozenset()
        self._wanted = threading.Event()

    @property
    def reserved(self) -> frozenset[str]:
        """Names of nodes that faults of the schedule have reserved."""
        with self._changed:
            return frozenset().union(*self._reserved.values())

    def reserve(self, fault: str, nodes: Iterable[str]) -> None:
        """Reserve nodes for a fault until it releases them; returns once no blink has any of them."""
        with self._changed:
            wanted = self._reserved[fault] = frozenset(nodes)
            if self._lent & wanted:
                self._wanted.set()
            self._changed.wait_for(lambda: not self._lent & wanted)

    def release(self, fault: str) -> None:
        """Release the nodes of a fault that is over."""
        with self._changed:
            self._reserved.pop(fault, None)

    def borrow(self, nodes: Iterable[str]) -> bool:
        """Borrow nodes for the only blink; returns whether all of them were free."""
        with self._changed:
            wanted = frozenset(nodes)
            if any(wanted & reserved for reserved in self._reserved.values()):
                return False
            self._lent = wanted
            self._wanted.clear()
            return True

    def await_wanted(self, within_s: float) -> None:
        """Wait until a fault wants the borrowed nodes, at most this many seconds."""
        self._wanted.wait(within_s)

    def recall(self) -> None:
        """Request the borrowed nodes back, if there are any."""
        self._wanted.set()

    def give_back(self) -> None:
        """Return the borrowed nodes after a blink."""
        with self._changed:
            self._lent = frozenset()
            self._changed.notify_all()
