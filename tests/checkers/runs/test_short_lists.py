"""Texts about many things: what is named, in which order, and what is only counted."""

import pytest

from checkers.runs.short_lists import all_of, first_of, lowest_of, number_of


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "none"),
        (["a"], "a"),
        (list("abcde"), "a, b, c, d, e"),
        (list("abcdefg"), "a, b, c, d, e and 2 more"),
    ],
)
def test_five_names_are_given(names: list[str], text: str) -> None:
    assert first_of(names) == text


def test_one_is_no_plural() -> None:
    assert [number_of(count, "fault") for count in (0, 1, 31)] == ["0 faults", "1 fault", "31 faults"]
    texts = [all_of(count, "partition") for count in (0, 1, 6)]
    assert texts == ["no partitions", "the only partition", "all 6 partitions"]


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        pytest.param({"f1": 200, "f2": 143, "f3": 143}, "lowest: 143 (f2), of 3 faults", id="none lacks"),
        pytest.param({"f1": 100}, "lowest: 100 (f1), of 1 fault", id="exactly enough"),
        pytest.param({"f1": 200, "f2": 99, "f3": 4}, "f3: 4, f2: 99, of 3 faults", id="the lowest first"),
        pytest.param({"f9": 4, "f1": 4}, "f9: 4, f1: 4, of 2 faults", id="equal ones in their order"),
    ],
)
def test_those_below_a_minimum_are_named(counts: dict[str, int], text: str) -> None:
    assert lowest_of(counts, 100) == text


def test_the_text_of_many_faults_is_short() -> None:
    """It fits in a cell of a report, beside faults that are enough."""
    counts = {f"g{number}f1": number % 20 for number in range(20)} | {f"f{n}": 500 for n in range(11)}
    text = lowest_of(counts, 100, "ms")
    assert text == "g0f1: 0 ms, g1f1: 1 ms, g2f1: 2 ms, g3f1: 3 ms, g4f1: 4 ms and 15 more, of 31 faults"
    assert lowest_of({"f1": 5}, 5, "ms") == "lowest: 5 ms (f1), of 1 fault"
