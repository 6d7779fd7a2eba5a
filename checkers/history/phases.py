"""The phases of a run, as its runner records them; docs/histories.md says when each of them begins."""

from enum import StrEnum

from checkers.history.operations import History

PHASE = "phase"
"""Function with which the runner records that a phase begins; its key is the phase."""


class Phase(StrEnum):
    """A phase of a run, in the order of time; a phase ends when the next one begins."""

    LOAD = "load"
    HEAL = "heal"
    RECOVER = "recover"
    FINAL_READ = "final-read"
    EVIDENCE = "evidence"
    DONE = "done"


def phase_began_ns(history: History, phase: Phase) -> int | None:
    """When a phase began, in nanoseconds since the run began; None if it never did."""
    return next((o.time_ns for o in history.of(PHASE) if o.key == phase), None)
