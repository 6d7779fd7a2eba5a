"""Messages between a command and the process of its runs; pickled, because both run the same code."""

import pickle
import traceback
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from checkers.history.reading import HistoryError
from harness.campaigns.performing import RunJudged
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.record.journal import describe
from results.store.runs import StoreError

FORESEEN = (HistoryError, KrucibleError, StoreError)
"""Errors whose message has a remedy; for any other error the traceback is sent too."""


class Order(NamedTuple):
    """An order to make a run.

    Attributes:
        plan: the plan of the run.
        keep: leave its cluster up.
        following: the run that is expected next.
    """

    plan: RunPlan
    keep: bool = False
    following: RunPlan | None = None


class StopRequest(StrEnum):
    """Requests to stop, which are no orders."""

    CANCEL = "end the run early, heal and judge it"
    STOP = "stop at once"


class Began(NamedTuple):
    """The folder of the run exists."""

    folder: Path


class Failed(NamedTuple):
    """The harness failed, with a message."""

    error: Exception


Answer = Began | RunJudged | Failed


def sendable(error: Exception) -> Exception:
    """An error that the other process can raise: this one, or one with the same text."""
    foreseen = isinstance(error, FORESEEN)
    trace = [] if foreseen else ["".join(traceback.format_exception(error))]
    for text in trace:
        error.add_note(text)
    if _comes_through(error):
        return error
    instead = KrucibleError(str(error)) if foreseen else RuntimeError(describe(error))
    for text in trace:
        instead.add_note(text)
    return instead


def _comes_through(error: Exception) -> bool:
    """Whether the error survives pickling; its constructor may need more arguments than a text."""
    try:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - written the moment before
    except Exception:  # noqa: BLE001 - after any error it can't be sent
        return False
    return type(again) is type(error) and str(again) == str(error)
