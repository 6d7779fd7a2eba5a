"""The events of a run; the runner does not depend on their listeners (console, reports, processes)."""

from collections.abc import Callable

import msgspec

from checkers.history.operations import Operation
from checkers.verdict.verdict import Verdict


class PhaseBegan(msgspec.Struct, frozen=True):
    """The run entered a phase, such as ``image``, ``start``, ``load``, ``recover`` or ``final-read``."""

    phase: str
    detail: str = ""
    limit_s: float | None = None


class Recorded(msgspec.Struct, frozen=True):
    """An operation was written to the journal.

    Attributes:
        written: the operation as given to the journal; its value may be a struct of `checkers.history`.
    """

    written: Operation

    @property
    def operation(self) -> Operation:
        """The operation as in the file; listeners to many operations should check `written` first."""
        if not isinstance(self.written.value, msgspec.Struct):
            return self.written
        value = msgspec.json.decode(msgspec.json.encode(self.written.value))
        return msgspec.structs.replace(self.written, value=value)


class RecordsAcknowledged(msgspec.Struct, frozen=True):
    """Records were acknowledged in another OS process, whose journal this process does not write."""

    records: int


class StaticMemberSeen(msgspec.Struct, frozen=True):
    """A static member of a group (KIP-345) has left for a while, is about to come back, or begins to work.

    Attributes:
        group: id of the group.
        instance: the member's instance id.
        away: whether it has left for a while.
    """

    group: str
    instance: str
    away: bool


class RunBegan(msgspec.Struct, frozen=True):
    """The folder of a run was created."""

    scenario: str
    kafka_version: str
    seed: int
    folder: str


class RunEnded(msgspec.Struct, frozen=True):
    """A run was judged."""

    folder: str
    verdict: Verdict
    reproduce: str


Event = PhaseBegan | Recorded | RecordsAcknowledged | StaticMemberSeen | RunBegan | RunEnded
Listener = Callable[[Event], None]
