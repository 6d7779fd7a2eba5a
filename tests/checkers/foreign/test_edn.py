"""EDN: whatever is printed is read back, in any pieces; whatever is no EDN is refused with its place."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.foreign import edn
from checkers.foreign.edn import read_elements, read_values
from checkers.foreign.text_pieces import Element, FilePlace
from checkers.history.reading import HistoryError

HERE = FilePlace("history", 1, 1)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc", max_size=3) | st.integers(-9, 9), inner, max_size=4)
    ),
    max_leaves=12,
)
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def printed(value: Any, draw: Any) -> str:
    """EDN of a value, in one of the ways that it may be written."""
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, str):
        quoted = '"' + "".join(ESCAPES.get(c, c) for c in value) + '"'
        is_keyword = value.isascii() and value.isalpha()
        return f":{value}" if is_keyword and draw(st.booleans()) else quoted
    if isinstance(value, list):
        opener, closer = draw(st.sampled_from([("[", "]"), ("(", ")")]))
        return str(opener + gap(draw).join(printed(item, draw) for item in value) + closer)
    if isinstance(value, dict):
        pairs = (printed(item, draw) for pair in value.items() for item in pair)
        tag = draw(st.sampled_from(["", "#jepsen.history.Op"]))
        return str(tag + "{" + gap(draw).join(pairs) + "}")
    return repr(value)


def gap(draw: Any) -> str:
    return str(
        draw(st.sampled_from([" ", ", ", "\n", " ; a comment\n", " #_[discarded {:a 1}] ", "\t#_ #_ 1 2\n"]))
    )


def pieces(text: str, size: int) -> list[str]:
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


def elements(text: str, size: int = 1 << 20) -> list[Element]:
    return list(read_elements(iter(pieces(text, size)), "history"))


def values(text: str, size: int = 1 << 20) -> list[Any]:
    return [element.value for element in elements(text, size)]


@settings(max_examples=150)
@given(st.lists(VALUES, max_size=5), st.data(), st.integers(1, 40))
def test_what_is_printed_is_read_back_in_any_pieces(
    wanted: list[Any], data: st.DataObject, size: int
) -> None:
    texts = [printed(value, data.draw) for value in wanted]
    between = gap(data.draw)
    opener, closer = data.draw(st.sampled_from([("[", "]"), ("(", ")")]))

    assert values(opener + between.join(texts) + closer, size) == wanted
    if not texts or texts[0][0] not in "[(":
        assert values(between.join(texts), size) == wanted


@settings(max_examples=150)
@given(st.text('{}[]()#_:;\\" \n,aN1./-+', max_size=30), st.integers(1, 9))
def test_any_text_is_read_or_refused_with_its_place_and_alike_in_any_pieces(text: str, size: int) -> None:
    def outcome(pieces_of: int) -> Any:
        try:
            return elements(text, pieces_of)
        except HistoryError as error:
            return error.place, error.problem

    assert outcome(size) == outcome(100)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-3N", -3),
        ("+7", 7),
        ("1.5e3", 1500.0),
        ("1.", 1.0),
        ("1/2", "1/2"),
        ("1.50M", "1.50M"),
        ("1M", "1M"),
        (":a.b/c", "a.b/c"),
        (":/", "/"),
        ("sym/bol", "sym/bol"),
        ("-", "-"),
        (r"\a", "a"),
        (r"\newline", "\n"),
        (r"\u0041", "A"),
        (r'"\u00e9\101\n"', "éA\n"),
        ('"two\nlines"', "two\nlines"),
        ("#{3 1 2 [1]}", [1, 2, 3, [1]]),
        ("{[1 2] :a}", {"[1,2]": "a"}),
        ('#inst "2020-01-01"', "2020-01-01"),
        ("#_ 1 2", 2),
        ("{:a #_ :b 2}", {"a": 2}),
    ],
)
def test_values(text: str, value: Any) -> None:
    (read,) = read_values(text, HERE, 0)
    assert read == value
    assert type(read) is type(value)


def test_places_are_those_of_the_elements() -> None:
    places = [element.place for element in elements("; note\n[{:a 1},\n   {:b 2} 3\n]", 5)]
    assert [(place.line, place.column) for place in places] == [(2, 2), (3, 4), (3, 11)]


def test_a_tagged_history_is_its_elements_and_a_discarded_one_is_not() -> None:
    assert values("#jepsen.History [1 2]") == [1, 2]
    assert values("#_ [1 2] [3]") == [3]
    assert values("1 [2]") == [1, [2]]
    assert values("[1] ; the end") == [1]


def test_empty_space_costs_little() -> None:
    assert values("1" + " " * 3_000_000 + "2\n" * 2 + "," * 3_000_000) == [1, 2, 2]


def test_many_different_atoms_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edn, "_ATOMS_KEPT", 2)
    assert values("1 2 3 1 2 3") == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[1\n2", "line 2, column 1", "before [ is closed"),
        ("[{:a 1}\n {:a", "line 2, column 2", "before { is closed"),
        ("[1 2)", "line 1, column 5", ") closes ["),
        ("]", "line 1, column 1", "closes nothing"),
        ("{:a}", "line 1, column 4", "a key without a value"),
        ("{:a 1 :a 2}", "line 1, column 11", "the same key twice"),
        ("{[1] 1 [1] 2}", "line 1, column 13", "the same key twice"),
        ('[1 "abc', "line 1, column 4", "not closed"),
        ("[##NaN]", "line 1, column 2", "does not begin a value"),
        ("[NaN 1e999]", "line 1, column 6", "is too large"),
        ("[99999999999999999999]", "line 1, column 2", "does not fit 64 bits"),
        (f"[{'9' * 5000}]", "line 1, column 2", "does not fit 64 bits"),
        ("[9223372036854775808]", "line 1, column 2", "does not fit 64 bits"),
        ("[01]", "line 1, column 2", "is not a number"),
        ("[1x]", "line 1, column 2", "is not a number"),
        ("[:]", "line 1, column 2", "is not a keyword"),
        ("[::a]", "line 1, column 2", "is not a keyword"),
        ('["\\q"]', "line 1, column 2", "means nothing"),
        ('["\\ud800"]', "line 1, column 2", "half a character"),
        ("[\\u00e]", "line 1, column 2", "is not a character"),
        ("[\\", "line 1, column 2", "a character is missing"),
        ("[#_]", "line 1, column 4", "is not followed by a value"),
        ("1 #_", "line 1, column 3", "is not followed by a value"),
        ("#_ " * 300, "line 1, column 601", "more than 200 tags"),
        ("[1] [2]", "line 1, column 5", "something follows"),
        ("[" * 300, "line 1, column 202", "nested deeper than 200"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_what_is_no_edn_is_refused_with_its_place(text: str, place: str, message: str, size: int) -> None:
    with pytest.raises(HistoryError) as refused:
        elements(text, size)
    assert refused.value.place == f"history, {place}"
    assert message in refused.value.problem


@pytest.mark.parametrize("text", ['{:a "%s"}', "{:a [%s]}", "; %s", "%s"])
def test_a_value_that_is_too_long_is_refused_before_it_is_held(text: str) -> None:
    def endless() -> Any:
        before, _, _ = text.partition("%s")
        yield "[{:a 1}\n" + before
        for _ in range(11):
            yield "1" * 1_000_000
        raise AssertionError("all of it was taken")

    with pytest.raises(HistoryError, match="more than 10,000,000 characters"):
        list(read_elements(endless(), "history"))


def test_a_value_that_is_too_long_is_refused_though_it_came_at_once() -> None:
    with pytest.raises(HistoryError, match="more than 10,000,000 characters"):
        elements(f'["{"x" * 10_000_001}"]', 20_000_000)
