"""The only module that knows JPype: starts the JVM, finds Java's classes, converts bytes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jpype

JavaError: type[BaseException] = jpype.JException
"""Everything that Java throws."""
_SMALL = ("-Xmx192m", "-XX:+ExitOnOutOfMemoryError", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xrs")
"""Brokers need the host more than a client does; ``-Xrs`` leaves signals to Python."""


def start(jars: Sequence[str], error_file: Path) -> None:
    """Start the JVM of this process.

    Args:
        jars: its class path.
        error_file: the file that it writes if it crashes.

    Raises:
        OSError: no JVM could be started.
    """
    jpype.startJVM(*_SMALL, f"-XX:ErrorFile={error_file}", classpath=list(jars), convertStrings=False)


def java(name: str) -> Any:
    """A class by its full name."""
    return jpype.JClass(name)


def detach() -> None:
    """Let the JVM forget this thread, which ends; JPype attaches threads by itself, but detaches none."""
    if jpype.isJVMStarted():
        java("java.lang.Thread").detach()


def class_of(error: BaseException) -> str:
    """The name of an exception's class, without its package."""
    return str(error.getClass().getSimpleName())  # type: ignore[attr-defined]  # `JavaError` has it


def message_of(error: BaseException) -> str:
    """An exception's message; empty if it has none."""
    text = error.getMessage()  # type: ignore[attr-defined]  # `JavaError` has it
    return "" if text is None else str(text)


def cause_of(error: BaseException) -> BaseException:
    """What caused an exception; the exception itself if nothing did."""
    cause: BaseException | None = error.getCause()  # type: ignore[attr-defined]  # `JavaError` has it
    return error if cause is None else cause


def to_java(content: bytes | None) -> Any:
    """Bytes as Java has them."""
    return None if content is None else jpype.JArray(jpype.JByte)(content)


def to_python(content: Any) -> bytes | None:
    """Bytes of Java's as Python has them."""
    return None if content is None else bytes(content)


def properties(config: Mapping[str, object]) -> Any:
    """A configuration; names have underscores for dots, and booleans are written in Java's way."""
    found = java("java.util.HashMap")()
    for name, value in config.items():
        found.put(name.replace("_", "."), str(value).lower() if isinstance(value, bool) else str(value))
    return found


def listed(items: Sequence[Any]) -> Any:
    """A list of Java's."""
    found = java("java.util.ArrayList")()
    for item in items:
        found.add(item)
    return found


def names(*texts: str) -> Any:
    """An array of Java's strings."""
    return jpype.JArray(java("java.lang.String"))(list(texts))


def implemented(name: str, **methods: Callable[..., object]) -> Any:
    """An object of Java's that implements an interface, whose methods are called in Java's threads."""
    return jpype.JProxy(name, dict=methods)


def duration(time_s: float) -> Any:
    """A time of Java's, from seconds; never below zero."""
    return java("java.time.Duration").ofMillis(max(0, int(time_s * 1000)))
