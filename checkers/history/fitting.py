"""Whether operations' keys and values have the shapes that checkers need, per function and type."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from checkers.history.consistency import problem_of
from checkers.history.operations import Operation, OperationType
from checkers.history.schema import SHAPES


class Misfit(NamedTuple):
    """The field of an operation that does not have its shape, and the difference."""

    field: str
    problem: str


def misfit_of(operation: Operation) -> Misfit | None:
    """Find the first field of an operation that does not have its shape; None if all have."""
    shape = SHAPES.get(name_of(operation))
    if shape is None:
        return None
    try:
        fields = msgspec.convert(operation, shape.fields, from_attributes=True)
    except msgspec.ValidationError:
        key, value = problem_of(operation.key, shape.key), problem_of(operation.value, shape.value)
        return Misfit("value", str(value)) if key is None else Misfit("key", key)
    problem = None if shape.rule is None else shape.rule(fields.value)
    return None if problem is None else Misfit("value", problem)


def all_fit(operations: Iterable[Operation]) -> bool:
    """Whether all of some operations fit; checking many at once takes half the time of `misfit_of`."""
    alike: dict[tuple[str, OperationType], list[Operation]] = {}
    for operation in operations:
        alike.setdefault(name_of(operation), []).append(operation)
    return all(SHAPES[name].has_all(some) for name, some in alike.items() if name in SHAPES)


def name_of(operation: Operation) -> tuple[str, OperationType]:
    """The name and type by which the shape of an operation is identified."""
    name = f"observe {operation.key}" if operation.f == "observe" else operation.f
    return name, operation.type
