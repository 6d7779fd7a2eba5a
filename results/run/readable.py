"""Reads a part of a history that may not conform to docs/histories.md."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

_UNREADABLE = (msgspec.ValidationError, ValueError, KeyError, TypeError, AttributeError)
_T = TypeVar("_T")


def readable(read: Callable[[], _T]) -> _T | None:
    """The result of `read`; None if the history has another format, which its checker reports."""
    try:
        return read()
    except _UNREADABLE:
        return None
