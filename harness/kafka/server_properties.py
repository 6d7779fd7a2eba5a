"""Which properties a node of Kafka has, by version, and which of them a mistyped name is near.

``server_properties.txt`` has the names that the jars of some versions define, internal ones included
(``AbstractKafkaConfig.CONFIG_DEF``, in older versions ``KafkaConfig.configDef``).  Kafka accepts any other
name: plugins may read it, and what nothing reads is ignored.
"""

from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_suffix(".txt")
_NEAR_MIN = 0.8
"""Smallest similarity to the name that was probably meant, from 0 to 1 (`difflib.SequenceMatcher.ratio`)."""
_PREFIXES = ("listener.name.", "config.providers.", "rsm.config.", "rlmm.config.")
"""How names begin that Kafka passes on: to listeners, config providers and the plugins of tiered storage."""


class _Known(NamedTuple):
    """The list: its versions, oldest first, and the first and the last that have each name."""

    versions: tuple[str, ...]
    names: dict[str, tuple[str, str]]


class UnknownProperty(NamedTuple):
    """A name that a version of Kafka does not have as a property of its own.

    Attributes:
        name: as it was given.
        near: the property that is probably meant; empty if none is near.
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
    """What is known of a name that is no property of a version; None if it is one, or may well be one.

    A version that is not in the list may have any property of the list, and new ones.  Of such a version a
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
