"""Tiny histories at random, whose reads are plausible, for brute force."""

import random
from typing import Any

from checkers.history.operations import History, Operation, OperationType


def tiny(seed: int, *, registers: bool, begin: Any = None) -> History:
    """Up to six transactions at random, whose reads are plausible: of one order of each key's writes.

    Args:
        seed: of whatever is random.
        registers: whether they write registers; otherwise they append to lists.
        begin: what most reads of a register that nobody wrote return.
    """
    rng = random.Random(seed)
    write = "w" if registers else "append"
    plans: list[list[list[Any]]] = []
    written: dict[str, list[int]] = {"x": [], "y": []}
    element = 0
    for _ in range(rng.randint(1, 6)):
        plan: list[list[Any]] = []
        for _ in range(rng.randint(1, 3)):
            key = rng.choice("xy")
            if rng.random() < 0.5:
                element += 1
                written[key].append(element)
                plan.append([write, key, element])
            else:
                plan.append(["r", key, None])
        plans.append(plan)
    for order in written.values():
        if rng.random() < 0.5:
            rng.shuffle(order)
    operations = _played(rng, plans, written, registers=registers)
    for mop in (mop for each in operations if begin is not None for mop in each.value):
        if mop[0] == "r" and mop[2] is None and rng.random() < 0.9:
            mop[2] = begin
    return History("run", "", tuple(operations))


def _played(
    rng: random.Random, plans: list[list[list[Any]]], written: dict[str, list[int]], *, registers: bool
) -> list[Operation]:
    events: list[tuple[int, OperationType, list[list[Any]]]] = []
    waiting, running = list(plans), list[tuple[int, list[list[Any]]]]()
    free, processes = [0], 1
    while waiting or running:
        if waiting and (not running or rng.random() < 0.5):
            if not free or rng.random() < 0.3:
                free.append(processes)
                processes += 1
            process, plan = free.pop(), waiting.pop(0)
            running.append((process, plan))
            events.append((process, OperationType.INVOKE, plan))
            continue
        process, plan = running.pop(rng.randrange(len(running)))
        kind = rng.choices([OperationType.OK, OperationType.INFO, OperationType.FAIL], [8, 1, 1])[0]
        value = [
            [word, key, _guess(rng, written[key], registers=registers) if word == "r" else argument]
            for word, key, argument in plan
        ]
        events.append((process, kind, value if kind is OperationType.OK else plan))
        free += [] if kind is OperationType.INFO else [process]
    return [
        Operation(index, index, process, kind, "txn", None, value)
        for index, (process, kind, value) in enumerate(events)
    ]


def _guess(rng: random.Random, order: list[int], *, registers: bool) -> Any:
    """Some version; now and then a list that fits no other."""
    length = rng.randint(0, len(order))
    if registers:
        return order[length - 1] if length else None
    return order[:length] if rng.random() < 0.95 else rng.sample(order, length)
