"""The predefined models: registers, a mutex, a set and a queue, with Jepsen's operations.

===============  ================================================================================
register         ``read`` (result), ``write`` (value)
cas-register     the same, and ``cas`` with ``[expected, new]``; a cas that failed did not happen
mutex            ``acquire``, ``release``
set              ``add`` (element), ``read`` (all elements), ``contains`` (``[element, true|false]``)
fifo-queue       ``enqueue`` (value), ``dequeue`` (result; null: it was empty)
multi-register   ``txn`` (or ``read``, ``write``): a list of ``[read|r|write|w, key, value]``, atomic
===============  ================================================================================

A read-only operation with an unknown outcome constrains nothing.  If the initial value is null, a read that
returned null has read null.  If the initial value is another value, Jepsen's clients return null for a read
without a result, and such a read constrains nothing.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

from checkers.history.operations import Operation
from checkers.registers.linearizability.canonical import UnreadableError, canonical, shown
from checkers.registers.linearizability.contract import INCONSISTENT, UNKNOWN, Action, Model, State, one_group
from checkers.registers.linearizability.multi_register import multi_register
from checkers.registers.linearizability.operands import argument_of, elements, is_ok, pair, unknown_operation


def register(initial: object = None) -> Model:
    """A register that is read and written."""
    return _register("register", ("read", "write"), initial)


def cas_register(initial: object = None) -> Model:
    """A register with compare-and-set."""
    return _register("cas-register", ("read", "write", "cas"), initial)


def mutex(initial: object = None) -> Model:
    """A lock that is held or not; its holder is not checked.

    `initial` is true if it is held at the start.
    """
    if initial is not None and not isinstance(initial, bool):
        raise UnreadableError(f"a mutex begins held (true) or free, not {initial!r}")
    return Model("mutex", bool(initial), _mutex_step, _mutex_action, _nothing, _mutex_refusal, _mutex_text)


def set_of_elements(initial: object = None) -> Model:
    """A set: elements are added, and it is read as a whole or queried for one element."""
    state = frozenset(elements([] if initial is None else initial))
    return Model("set", state, _set_step, _set_action, _set_observes, _set_refusal, partition=_by_element)


def fifo_queue(initial: object = None) -> Model:
    """A queue: first in, first out."""
    state = tuple(elements([] if initial is None else initial))
    return Model(
        "fifo-queue", state, _queue_step, _queue_action, _nothing, _queue_refusal, text_of=_queue_text
    )


MODELS: Mapping[str, Callable[..., Model]] = {
    "register": register,
    "cas-register": cas_register,
    "mutex": mutex,
    "set": set_of_elements,
    "fifo-queue": fifo_queue,
    "multi-register": multi_register,
}
"""All models by name.

Each takes the initial value as its only argument, None for the usual one.
"""


def _nothing(_: Action) -> bool:
    return False


def _register(name: str, operations: tuple[str, ...], initial: object) -> Model:
    state = canonical(initial)

    def action_of(invoke: Operation, completion: Operation | None) -> Action | None:
        if invoke.f not in operations:
            raise unknown_operation(invoke, name)
        if invoke.f == "read":
            return _read(completion, state)
        argument = argument_of(invoke, completion)
        if invoke.f == "cas":
            old, new = pair("cas", argument)
            return Action("cas", (canonical(old), canonical(new)))
        return Action("write", canonical(argument))

    return Model(name, state, _register_step, action_of, _register_observes, _register_refusal)


def _pair(action: Action) -> tuple[State, State]:
    """The expected value and the new value of a cas."""
    return action.argument  # type: ignore[return-value]  # a cas has a pair


def _read(completion: Operation | None, initial: State) -> Action | None:
    if completion is None or not is_ok(completion):
        return None
    if completion.value is None and initial is not None:
        return None
    return Action("read", None, canonical(completion.value))


def _register_step(state: State, action: Action) -> State:
    if action.f == "read":
        return state if action.result == state else INCONSISTENT
    if action.f == "write":
        return action.argument
    old, new = _pair(action)
    return new if old == state else INCONSISTENT


def _register_observes(action: Action) -> bool:
    if action.f == "cas":
        old, new = _pair(action)
        return old == new
    return action.f == "read"


def _register_refusal(state: State, action: Action) -> str:
    if action.f == "read":
        return f"can't read {shown(action.result)} from register {shown(state)}"
    old, new = _pair(action)
    return f"can't cas {shown(old)} to {shown(new)} in register {shown(state)}"


def _mutex_action(invoke: Operation, _: Operation | None) -> Action:
    if invoke.f not in ("acquire", "release"):
        raise unknown_operation(invoke, "mutex")
    return Action(invoke.f)


def _mutex_text(held: State) -> str:
    return "held" if held else "free"


def _mutex_step(held: State, action: Action) -> State:
    wanted = action.f == "acquire"
    return INCONSISTENT if bool(held) is wanted else wanted


def _mutex_refusal(held: State, action: Action) -> str:
    return f"can't {action.f} a mutex that is {_mutex_text(held)}"


def _set_action(invoke: Operation, completion: Operation | None) -> Action | None:
    if invoke.f == "add":
        return Action("add", canonical(argument_of(invoke, completion)))
    if invoke.f not in ("read", "contains"):
        raise unknown_operation(invoke, "set")
    if completion is None or not is_ok(completion) or completion.value is None:
        return None
    if invoke.f == "read":
        return Action("read", None, frozenset(elements(completion.value)))
    element, found = pair("contains", completion.value)
    if not isinstance(found, bool):
        raise UnreadableError(f"contains gives true or false, not {shown(canonical(found))}")
    return Action("contains", canonical(element), found)


def _set_step(state: State, action: Action) -> State:
    held: frozenset[State] = state  # type: ignore[assignment]  # the set model's state
    if action.f == "add":
        return held if action.argument in held else held | {action.argument}
    if action.f == "read":
        return held if action.result == held else INCONSISTENT
    return held if (action.argument in held) is action.result else INCONSISTENT


def _by_element(actions: Sequence[Action]) -> Sequence[Hashable]:
    """Elements are independent of each other, unless an operation reads all of them at once."""
    if any(action.f == "read" for action in actions):
        return one_group(actions)
    return [action.argument for action in actions]


def _set_observes(action: Action) -> bool:
    return action.f != "add"


def _set_refusal(state: State, action: Action) -> str:
    if action.f == "read":
        return f"can't read {shown(action.result)} from set {shown(state)}"
    return f"{shown(action.argument)} is {'not ' if action.result else ''}in set {shown(state)}"


def _queue_action(invoke: Operation, completion: Operation | None) -> Action:
    if invoke.f == "enqueue":
        return Action("enqueue", canonical(argument_of(invoke, completion)))
    if invoke.f != "dequeue":
        raise unknown_operation(invoke, "fifo-queue")
    if completion is None or not is_ok(completion):
        return Action("dequeue")
    return Action("dequeue", None, canonical(completion.value))


def _queue_text(state: State) -> str:
    return shown(("list", *state))  # type: ignore[misc]  # the queue model's state is a tuple


def _queue_step(state: State, action: Action) -> State:
    queue: tuple[State, ...] = state  # type: ignore[assignment]  # the queue model's state is a tuple
    if action.f == "enqueue":
        return (*queue, action.argument)
    if not queue:
        return queue if action.result in (None, UNKNOWN) else INCONSISTENT
    return queue[1:] if action.result in (UNKNOWN, queue[0]) else INCONSISTENT


def _queue_refusal(state: State, action: Action) -> str:
    queue: tuple[State, ...] = state  # type: ignore[assignment]  # the queue model's state is a tuple
    where = f"a queue whose head is {shown(queue[0])}" if queue else "an empty queue"
    return f"can't dequeue {shown(action.result)} from {where}"
