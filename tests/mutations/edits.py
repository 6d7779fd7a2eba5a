"""A copy of a history that is being changed: operations are replaced, dropped and added, others shared."""

import pickle
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NoReturn

import msgspec

from checkers.history.operations import History, Operation, OperationType


class NoPlaceError(Exception):
    """The run has no place for a mutation: choose another run for it."""


class Edit:
    """A history with changes.

    Attributes:
        original: the history as it was recorded.
        name: the run's name.
        place: which of the mutation's places it is, from 0.
        of: how many places it has.
        draw: random numbers of this mutation, run and place.
    """

    def __init__(self, original: History, name: str, mutation: str, place: int, of: int) -> None:
        self.original = original
        self.name = name
        self.place = place
        self.of = of
        self.draw = Random(f"{mutation} {name} {place}")
        self._changed: dict[int, Operation | None] = {}
        self._added: list[Operation] = []
        self._damage = original.damage
        self._lacking = original.lacking

    @property
    def operations(self) -> Iterable[Operation]:
        """All operations as they are now, without those that were added."""
        changed = self._changed
        for operation in self.original.operations:
            now = changed.get(operation.index, operation)
            if now is not None:
                yield now

    def chosen(self, places: Iterable[Any]) -> Any:
        """The place of this mutation among all that would do: spread evenly over them.

        Raises:
            NoPlaceError: there are fewer than places are asked for.
        """
        found = list(places)
        if len(found) < self.of:
            self.give_up(f"{len(found)} places, {self.of} are asked for")
        return found[(2 * self.place + 1) * len(found) // (2 * self.of)]

    def give_up(self, why: str) -> NoReturn:
        """Tell that a run has no place for this mutation.

        Raises:
            NoPlaceError: always.
        """
        raise NoPlaceError(f"{self.name}: {why}")

    def now(self, index: int) -> Operation:
        """An operation as it is now; it was not dropped."""
        operation = self._changed.get(index, self.original.operations[index])
        assert operation is not None
        return operation

    def set(self, index: int, **fields: Any) -> None:
        """Replace fields of an operation."""
        self._changed[index] = msgspec.structs.replace(self.now(index), **fields)

    def change(self, index: int, change: Callable[[Any], Any]) -> None:
        """Let a function change a copy of an operation's value, in place or by what it returns."""
        # `deepcopy` takes three times as long.
        value = pickle.loads(pickle.dumps(self.now(index).value, pickle.HIGHEST_PROTOCOL))  # noqa: S301 - our own
        changed = change(value)
        self.set(index, value=value if changed is None else changed)

    def drop(self, *indices: int) -> None:
        """Remove operations from a history."""
        for index in indices:
            self._changed[index] = None

    def add(self, like: Operation, time_ns: int, **fields: Any) -> None:
        """Add an operation like another one, at another time."""
        self._added.append(msgspec.structs.replace(like, time_ns=time_ns, **fields))

    def add_call(
        self,
        process: int | str,
        f: str,
        key: Any,
        times_ns: tuple[int, int],
        values: tuple[Any, Any],
        *,
        ended: OperationType = OperationType.OK,
        error: str | None = None,
    ) -> None:
        """Add an invocation and its completion, with the value of each."""
        began = Operation(0, times_ns[0], process, OperationType.INVOKE, f, key, values[0])
        self._added += [began, Operation(0, times_ns[1], process, ended, f, key, values[1], error)]

    def history(self) -> History:
        """The changed history, in the order of time and indexed anew."""
        operations = [*self.operations, *self._added]
        operations.sort(key=lambda operation: operation.time_ns)
        again = [
            operation if operation.index == index else msgspec.structs.replace(operation, index=index)
            for index, operation in enumerate(operations)
        ]
        return msgspec.structs.replace(self.original, operations=tuple(again))


def replaced(value: dict[str, Any], **fields: Any) -> None:
    """Give some fields of a value other values."""
    value.update(fields)
