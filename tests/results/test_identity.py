"""``run.json`` gives back what was put in, and refuses what it does not know."""

import msgspec
import pytest

from checkers.history.identity import RunIdentity, decode_identity, encode_identity
from tests.results.story import IDENTITY


def test_an_identity_survives_its_file() -> None:
    assert decode_identity(encode_identity(IDENTITY)) == IDENTITY


def test_the_file_ends_with_a_newline_and_has_a_field_a_line() -> None:
    encoded = encode_identity(IDENTITY)
    assert encoded.endswith(b"}\n")
    assert b'\n  "seed": 7,\n' in encoded


def test_unknown_fields_are_passed_over() -> None:
    grown = msgspec.json.decode(encode_identity(IDENTITY)) | {"weather": "fine"}
    assert decode_identity(msgspec.json.encode(grown)) == IDENTITY


def test_another_format_version_is_refused() -> None:
    other = msgspec.structs.replace(IDENTITY, krucible_run=2)
    with pytest.raises(ValueError, match="format version 2, expected 1"):
        decode_identity(encode_identity(other))


def test_an_identity_needs_its_reproduce_line() -> None:
    fields = msgspec.json.decode(encode_identity(IDENTITY), type=dict[str, msgspec.Raw])
    del fields["reproduce"]
    with pytest.raises(msgspec.ValidationError, match="reproduce"):
        decode_identity(msgspec.json.encode(fields))


def test_the_least_identity_is_small() -> None:
    least = RunIdentity(
        run="1", scenario="a/b", seed=1, kafka_version="4.3.1", began_at="2026-11-20T21:56:57Z", reproduce="x"
    )
    assert decode_identity(encode_identity(least)).image is None
