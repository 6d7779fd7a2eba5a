"""Benchmarks: each has its place in the page, and only that is written anew."""

import pytest

from benchmarks.__main__ import PAGE, names, replaced
from benchmarks.tables import Table

SMALL = "before\n<!-- bench: log -->\nold\n<!-- end: log -->\nafter\n"


@pytest.mark.parametrize("name", names())
def test_every_benchmark_has_its_place(name: str) -> None:
    page = replaced(PAGE.read_text(), name, "nothing")
    assert f"<!-- bench: {name} -->\nnothing\n<!-- end: {name} -->" in page


def test_what_stands_around_stays() -> None:
    page = replaced(SMALL, "log", "\nnew \\1\n\n")
    assert page == "before\n<!-- bench: log -->\nnew \\1\n<!-- end: log -->\nafter\n"


def test_a_page_without_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="0 places"):
        replaced(SMALL, "registers", "new")


def test_a_table_is_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(("what", "how many", "s"), texts=1)
    table.row("a", 1, "0.1")
    assert capsys.readouterr().out == "| what | how many | s |\n|---|---:|---:|\n| a | 1 | 0.1 |\n"
    with pytest.raises(ValueError, match="2 cells"):
        table.row("a", 1)
