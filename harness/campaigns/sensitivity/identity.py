"""Digests that show whether a stored run had the bug and the faults of a planned one; pure."""

import hashlib
import json
from collections.abc import Mapping

import msgspec

from harness.plan.schedule import Planned
from harness.seeded_bugs.header import SeededBug
from harness.seeded_bugs.script import script_of
from harness.vocabulary.former import CURRENT_FIELDS, CURRENT_WORDS

_DIGITS = 12
_NODES = "# nodes:"
_FORMER_WORDS: Mapping[object, str] = {current: former for former, current in CURRENT_WORDS.items()}
_FORMER_FIELDS = {current: former for former, current in CURRENT_FIELDS.items()}


def bug_digest(bug: SeededBug) -> str:
    """Digest of a bug's effects: its rules, and the roles of the nodes that get them.

    Texts of the header and expected anomalies are left out, because they do not change a run.
    """
    return _digest(_essence(bug.rules))


def is_script_of(script: str, bug: SeededBug) -> bool:
    """Whether the script on a run's nodes is that of a bug, by the same digest."""
    return _essence(script) == _essence(script_of(bug))


def schedule_digest(schedule: Planned) -> str:
    """Digest of a run's schedule.

    A new field of the vocabulary does not change the digest while it has its default, and neither does a new
    name of a move: digests have the former names, so that an earlier measurement can be continued.
    """
    return _digest(json.dumps(_bare(schedule), sort_keys=True))


def _essence(rules: str) -> str:
    lines = rules.splitlines()
    return "\n".join(line.rstrip() for line in lines if line.startswith(_NODES) or not line.startswith("#"))


def _bare(value: object) -> object:
    """A value for JSON, without the fields of Structs that have their defaults."""
    match value:
        case msgspec.Struct():
            fields = msgspec.structs.fields(value)
            own = {
                _FORMER_FIELDS.get(field.name, field.name): _bare(getattr(value, field.name))
                for field in fields
                if not _at_default(field, value)
            }
            tag = value.__struct_config__.tag
            return {"": _FORMER_WORDS.get(tag, tag), **own}
        case list() | tuple():
            return [_bare(one) for one in value]
        case dict():
            return {str(key): _bare(one) for key, one in value.items()}
        case _:
            return value


def _at_default(field: msgspec.structs.FieldInfo, value: msgspec.Struct) -> bool:
    found = getattr(value, field.name)
    if field.default_factory is not msgspec.NODEFAULT:
        return bool(found == field.default_factory())
    return bool(found == field.default)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
