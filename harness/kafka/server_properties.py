"""The properties of a node of Kafka, by version, and the one nearest to a mistyped name.

``server_properties.txt`` has the names that the jars of some versions define, internal ones included
(``AbstractKafkaConfig.CONFIG_DEF``, in older versions ``KafkaConfig.configDef``).  Kafka accepts any other
name: plugins may read it, and otherwise it is ignored.
"""

from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_suffix(".txt")
_NEAR_MIN = 0.8
"""Smallest similarity to the probably intended name, from 0 to 1 (`difflib.SequenceMatcher.ratio`)."""
_PREFIXES = ("listener.name.", "config.providers.", "rsm.config.", "rlmm.config.")
"""Prefixes of names that Kafka passes to listeners, config providers and plugins of tiered storage."""


class _Known(NamedTuple):
    """The list: its versions, oldest first, and for each name the first and the last version with it."""

    versions: tuple[str, ...]
    names: dict[str, tuple[str, str]]


class UnknownProperty(NamedTuple):
    """A name that is no property of a version of Kafka.

    Attributes:
        name: the given name.
        near: the property that was probably intended; empty if none is near.
        versions: the first and the last version in the list that have it; empty if none has it.
        listed: the first and the last version in the list.
        certain: whether the version itself is in the list.
    """

    name: str
    near: str
    versions: tuple[str, ...]
    listed: tuple[str, str]
    certain: bool


def unknown_property(name: str, version: str) -> UnknownProperty | None:
    """The facts about a name that is no property of a version; None if it is one, or may be one.

    A version that is not in the list may have any property of the list, and new ones.  For such a version a
    name is only unknown if it is near one in the list.
    """
    known = _known()
    certain = version in known.versions
    names = [each for each in known.names if not certain or _has(known, each, version)]
    if name in names or name.startswith(_PREFIXES):
        return None
    near = next(iter(get_close_matches(name, names, n=1, cutoff=_NEAR_MIN)), "")
    if not (certain or near):
        return None
    listed = known.versions[0], known.versions[-1]
    return UnknownProperty(name, near, known.names.get(name, ()), listed, certain)


def _has(known: _Known, name: str, version: str) -> bool:
    first, last = map(known.versions.index, known.names[name])
    return first <= known.versions.index(version) <= last


@cache
def _known() -> _Known:
    lines = _FILE.read_text().splitlines()
    versions = next(line for line in lines if line.startswith("# 3")).split()[1:]
    rows = (line.split() for line in lines if not line.startswith("#"))
    return _Known(tuple(versions), {name: (first, last) for name, first, last in rows})
