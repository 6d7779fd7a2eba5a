"""Fields of values of the vocabulary, found once for each kind of value."""

import functools

import msgspec


@functools.cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a kind of value, in their order; msgspec evaluates the annotations again at each call."""
    return msgspec.structs.fields(kind)
