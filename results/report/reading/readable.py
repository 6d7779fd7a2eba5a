"""Reads the content of a card from a history that may not be as docs/histories.md says."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

_UNREADABLE = (msgspec.ValidationError, ValueError, KeyError, TypeError, AttributeError)
_T = TypeVar("_T")


def readable(read: Callable[[], _T]) -> _T | None:
    """What is read, or None where the history has another shape: its checker reports that."""
    try:
        return read()
    except _UNREADABLE:
        return None
