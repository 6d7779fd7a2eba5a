"""The types of the runner's records about the run itself: starts, journals, failures of the harness.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

import msgspec

from checkers.history.transactions import PRODUCER_CLOSED


class DeathSeen(msgspec.Struct, frozen=True):
    """A node that ended during a start, and the line in its log that reports this."""

    node: str
    exit_code: int
    said: str


class StartSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a start; fields as in docs/histories.md.

    Attributes:
        missing: what was still missing at the end of the wait; ``waited_for`` in the history.
        died: nodes that ended during a failed start; None if the cluster became ready.
    """

    ready: bool
    missing: str | None = msgspec.field(name="waited_for", default=None)
    took_s: float
    load_per_cpu: float | None = None
    sentences: tuple[str, ...] = ()
    died: tuple[DeathSeen, ...] | None = None


class JournalOpened(msgspec.Struct, frozen=True):
    """Description of a journal that the run opens; None for fields that were not recorded."""

    role: str | None = None


class HarnessFailed(msgspec.Struct, frozen=True):
    """A failure of the harness itself, as one line."""

    error: str


class JournalEnded(msgspec.Struct, frozen=True, omit_defaults=True):
    """Number of lines of a journal, including the first and this last one.

    Attributes:
        lines: number of lines of this journal.
        journals: in the runner's journal: name, role and number of lines of every other journal; None if the
            number is unknown, because another OS process writes the journal or its writer was given up.
    """

    lines: int
    journals: tuple[tuple[str, str | None, int | None], ...] = ()


END = "end"
"""Function of a journal's last line."""
OPENED = "journal"
"""Function with which the runner records that a journal begins."""
START = "start"
"""Function with which the runner records the result of a start of the cluster."""
FAILURE = "harness-failure"
"""Function with which the runner records a failure of the harness itself."""
LASTED = "harness-lasted"
"""The assumption that the harness had no failure."""
OBSERVATIONS = frozenset({"observe", "setup", "phase", OPENED, END, START, FAILURE, PRODUCER_CLOSED})
"""Functions whose operations have no invocation."""
