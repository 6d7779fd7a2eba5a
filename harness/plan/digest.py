"""Digests of schedules and scenarios, which stay the same in later versions of krucible; pure."""

import hashlib
import json
from collections.abc import Mapping

import msgspec

from harness.plan.fields import fields_of
from harness.vocabulary.former import CURRENT_FIELDS, CURRENT_WORDS

_DIGITS = 12
_FORMER_WORDS: Mapping[object, str] = {current: former for former, current in CURRENT_WORDS.items()}
_FORMER_FIELDS = {current: former for former, current in CURRENT_FIELDS.items()}


def digest_of(value: msgspec.Struct) -> str:
    """Digest of a value of the vocabulary; equal values have the same digest.

    A new field of the vocabulary does not change the digest while it has its default, and neither does a new
    name of a type or a move: digests have the former names, so that earlier work can be continued.
    """
    return digest_of_text(json.dumps(_bare(value), sort_keys=True))


def digest_of_text(text: str) -> str:
    """Digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _bare(value: object) -> object:
    """A value for JSON, without the fields of Structs that have their defaults."""
    match value:
        case msgspec.Struct():
            own = {
                _FORMER_FIELDS.get(field.name, field.name): _bare(getattr(value, field.name))
                for field in fields_of(type(value))
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
