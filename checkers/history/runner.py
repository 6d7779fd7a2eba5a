"""The types of what the runner records about the run itself: starts, journals, failures of the harness.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

import msgspec


class DeathSeen(msgspec.Struct, frozen=True):
    """A node that ended during a start, and the line by which it reported that."""

    node: str
    exit_code: int
    said: str


class StartSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a start; fields as in docs/histories.md.

    Attributes:
        died: nodes that ended during a failed start; None if the cluster became ready.
    """

    ready: bool
    waited_for: str | None = None
    took_s: float
    load_per_cpu: float | None = None
    sentences: tuple[str, ...] = ()
    died: tuple[DeathSeen, ...] | None = None


class JournalOpened(msgspec.Struct, frozen=True):
    """Description of a journal that the run begins; None where a field was not recorded."""

    role: str | None = None


class HarnessFailed(msgspec.Struct, frozen=True):
    """What hit the harness itself, as one line."""

    error: str


class JournalEnded(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many lines a journal has, the first and this last one among them.

    Attributes:
        lines: of this journal.
        journals: in the runner's: name, role and number of lines of every other one; None where that is not
            known, because another OS process writes it or its writer was given up.
    """

    lines: int
    journals: tuple[tuple[str, str | None, int | None], ...] = ()


END = "end"
"""Function of a journal's last line."""
OPENED = "journal"
"""Function by which the runner records that a journal begins."""
START = "start"
"""Function by which the runner records the result of a start of the cluster."""
FAILURE = "harness-failure"
"""Function by which the runner records a failure of the harness itself."""
LASTED = "harness-lasted"
"""The assumption that nothing did."""
OBSERVATIONS = frozenset({"observe", "setup", "phase", OPENED, END, START, FAILURE})
"""Functions whose operations have no invocation."""
