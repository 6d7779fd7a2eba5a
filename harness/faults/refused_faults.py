"""Faults that hit no target, and why."""

from typing import NamedTuple

from checkers.history.faults import Refusal


class Refused(NamedTuple):
    """A fault that hits no target.

    Attributes:
        kind: the kind of reason, which the history has as ``refused``.
        why: the reason as a sentence, which the history has as the error.
    """

    kind: Refusal
    why: str


HELD = Refused(Refusal.HELD, "the target is held by another fault")
"""Other faults affect all possible targets."""
DEAD = Refused(Refusal.DEAD, "the target is dead: its process ended by itself")
"""The target's process ended without a fault."""
OVER = Refused(Refusal.OVER, "the schedule is over")
"""A blink was not due before the end of the schedule."""


def withheld(node: str, why: str) -> Refused:
    """A fault of a disk that would hit this node, and could lose acknowledged records."""
    return Refused(Refusal.WITHHELD, f"withheld from {node}: {why}")
