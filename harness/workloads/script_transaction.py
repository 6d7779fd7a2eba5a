"""A transaction of a script: its records, and how it ended."""

from collections.abc import Sequence
from typing import NamedTuple

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from checkers.history.transactions import TxnEnd, TxnEnded, TxnSend

TOPIC = "txn-0"
CLIENT = "raw"
FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
"""Errors by which a coordinator refuses a request with an old producer epoch; the request changes nothing."""


class ScriptError(Exception):
    """A step failed that the script needs, so later steps would prove nothing."""


class ScriptedSend(NamedTuple):
    """One record of a transaction."""

    partition: int
    value: int


class OpenTransaction:
    """A transaction in progress.

    Attributes:
        sends: its records.
        offsets: offsets of the acknowledged records, by value.
        refused: Kafka's error code with which the coordinator refused its end; None if it did not.
    """

    def __init__(self, sends: Sequence[ScriptedSend]) -> None:
        self.sends = tuple(sends)
        self.offsets: dict[int, int] = {}
        self.refused: int | None = None

    def ended(self, end: TxnEnd, ended: TxnEnd | None) -> TxnEnded:
        """The current result, with the intended end and the acknowledged end."""
        sent = [TxnSend(TOPIC, p, value, self.offsets.get(value)) for p, value in self.sends]
        return TxnEnded(client=CLIENT, end=end, mops=[*sent], ended=ended)

    def outcome(self, end: TxnEnd) -> tuple[OperationType, TxnEnded, str | None]:
        """Type, result and error of the completed operation.

        An end that was refused because the epoch was old did not happen; after other refusals it is unknown.
        """
        if self.refused is not None:
            kind = OperationType.FAIL if self.refused in FENCED else OperationType.INFO
            return kind, self.ended(end, None), f"EndTxn: [Error {self.refused}]"
        return OperationType.OK if end == "commit" else OperationType.FAIL, self.ended(end, end), None
