"""Passes the values of several options to a command as one struct, so that mypy checks their types."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)


def gathered(kind: type[S]) -> Callable[[Callable[Concatenate[S, P], R]], Callable[P, R]]:
    """Pass a struct to a command as its first argument, instead of the options with the names of its fields.

    Click passes every option by its name, and mypy does not see these calls.

    Args:
        kind: the type of the struct.
    """

    def gather(function: Callable[Concatenate[S, P], R]) -> Callable[P, R]:
        @wraps(function)
        def gathering(*args: P.args, **given: P.kwargs) -> R:
            fields = {name: given.pop(name) for name in kind.__struct_fields__}
            return function(kind(**fields), *args, **given)

        return gathering

    return gather
