"""Whatever text comes in, what goes out is one short visible line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.markup.cleaning import clean, clean_value

ANYTHING = st.text(alphabet=st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("a\x00b", r"a\x00b"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("two\nlines\tand\r", r"two\nlines\tand\r"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066isolated\u2069", r"\u2066isolated\u2069"),
        ("lone \ud800 surrogate", r"lone \ud800 surrogate"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("no\ufeffspace\u200b", r"no\ufeffspace\u200b"),
        ("naïve 😀 <b>&", "naïve 😀 <b>&"),
    ],
)
def test_unsafe_characters_are_shown_as_escapes(hostile: str, harmless: str) -> None:
    assert clean(hostile, 100) == harmless


def test_a_long_text_keeps_its_beginning_and_has_its_length() -> None:
    assert clean("x" * 1_000_000, 5) == "xxxxx… (1,000,000 characters)"


def test_a_tower_of_accents_is_cut_down() -> None:
    assert clean("a" + "\u0301" * 50 + "b", 100) == "a" + "\u0301" * 4 + "b"


@given(ANYTHING)
def test_the_outcome_can_be_written_and_is_one_line(text: str) -> None:
    cleaned = clean(text, 30)
    cleaned.encode("utf-8")
    assert len(cleaned.splitlines()) <= 1
    assert not any(ord(character) < 32 for character in cleaned)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        ("plain", "plain"),
        ([1, "ä", None], '[1, "ä", null]'),
        ({"a": {1}}, '{"a": "{1}"}'),
        (True, "true"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_any_value_becomes_a_line(value: object, shown: str) -> None:
    assert clean_value(value, 60) == shown


def test_a_value_that_json_can_not_hold_is_named() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert clean_value(endless, 60) == "(list that can't be shown)"
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert clean_value(deep, 60) == "(list that can't be shown)"
