"""Maps each fault's type to the class that carries it out; classes register themselves."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness.faults.contract import ActiveFault, Bench
from harness.faults.targets import Resolved
from harness.vocabulary.faults import Fault
from harness.vocabulary.injected import Injected

Maker = Callable[[Any, str, Resolved, Bench], ActiveFault]
"""Makes a fault from its value, its id, its target and the cluster; nothing is injected yet."""
Made = TypeVar("Made", bound=Maker)
_MAKERS: dict[type[Injected], Maker] = {}


def carries_out(word: type[Injected]) -> Callable[[Made], Made]:
    """Register the class that carries out faults of a type."""

    def registered(maker: Made) -> Made:
        _MAKERS[word] = maker
        return maker

    return registered


def activate(spec: Fault, fault: str, resolved: Resolved, bench: Bench) -> ActiveFault:
    """The fault that a spec names, with its target resolved; it is not injected yet."""
    return makers()[type(spec)](spec, fault, resolved, bench)


@cache
def makers() -> dict[type[Injected], Maker]:
    """The classes that carry out faults, by type; imports all modules of this folder."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return _MAKERS


def as_value(spec: Fault) -> dict[str, object]:
    """The spec in the form of the history and of schedule.json."""
    value: dict[str, object] = msgspec.to_builtins(spec)
    return value
