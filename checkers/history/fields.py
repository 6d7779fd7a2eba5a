"""The types of fields that the values of several operations have in common.

The other modules here have the types of keys and values, one subject each.  `checkers.history.fitting`
assigns them to operations.  Their fields are those of docs/histories.md.  Fields that no checker reads are
not required.  Unknown fields are ignored, so that a newer journal of the same format version stays readable.
"""

from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

_T = TypeVar("_T")


def written(default: _T) -> _T:
    """The default of a field that is always written: msgspec omits only defaults that it can compare."""
    made: _T = msgspec.field(default_factory=lambda: default)
    return made


LARGEST = 2**62
"""Largest accepted time, offset or position, so that the sum of two still fits 64 bits."""
Offset = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Partition = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
RecordValue: TypeAlias = Any
"""The value of a record: a number, or any JSON value in histories of other harnesses.

It is not `object`, because msgspec checks each value against `object`.
"""
