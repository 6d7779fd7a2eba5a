"""A section of a page: a heading, plain texts and a table, for any format."""

from typing import NamedTuple

ROWS_MAX = 200
"""Largest number of rows of a table, unless its section says otherwise; the JSON has all."""
NAMES_MAX = 3
"""Runs that a cell names."""


class Section(NamedTuple):
    """A heading, a sentence or two, and a table.

    Attributes:
        title: the heading.
        lead: text before the table; may be empty.
        head: names of columns; a prefix ``>`` marks a column of numbers, a backtick one of code, a slash one
            of runs (names of folders with spaces between).
        rows: plain texts, not escaped: the code that makes a page escapes them.
        note: text after the table; may be empty.
        targets: for each row, the id on the page that its first cell links to, empty for no link; no targets
            at all if no row has a link.
        ids: for each row, its own id; empty likewise.
        rows_max: how many rows are shown.
    """

    title: str
    lead: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    targets: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    rows_max: int = ROWS_MAX


def named(folders: tuple[str, ...]) -> str:
    """A cell of runs: the first few, and how many more there are."""
    more = f" +{len(folders) - NAMES_MAX:,}" if len(folders) > NAMES_MAX else ""
    return " ".join(folders[:NAMES_MAX]) + more
