"""No thread of the harness overrides a private method of `threading.Thread`.

A worker once had a method `_delete`, which `Thread` calls when a thread ends: each load ended with a
request that was not intended.
"""

import importlib
import pkgutil
import threading
from collections.abc import Iterator

import harness

PRIVATE = {name for name in dir(threading.Thread) if name.startswith("_") and not name.endswith("__")}


def below(base: type[threading.Thread]) -> Iterator[type[threading.Thread]]:
    """All subclasses of a class."""
    for each in base.__subclasses__():
        yield each
        yield from below(each)


def overridden(thread: type[threading.Thread]) -> set[str]:
    """The private methods of `threading.Thread` that a class has of its own."""
    return PRIVATE & vars(thread).keys()


def test_no_thread_overrides_a_private_method() -> None:
    for module in pkgutil.walk_packages(harness.__path__, "harness."):
        importlib.import_module(module.name)
    ours = {each for each in below(threading.Thread) if each.__module__.startswith("harness.")}
    assert len(ours) > 10
    assert {each.__name__: overridden(each) for each in ours if overridden(each)} == {}


def test_a_method_that_overrides_one_is_found() -> None:
    class Ending(threading.Thread):
        def _delete(self) -> None:
            """What CPython calls at the end of a thread."""

    assert overridden(Ending) == {"_delete"}
