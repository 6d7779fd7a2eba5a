"""Values of which a test knows the kind, as that kind."""

from typing import TypeVar

T = TypeVar("T")


def of_kind(kind: type[T], value: object) -> T:
    """The value, which must be of that kind."""
    assert isinstance(value, kind), value
    return value
