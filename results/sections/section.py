"""A section of a page: a heading, plain texts and a table, whatever the page is made of."""

from typing import NamedTuple

ROWS_MAX = 200
"""Of a table, unless its section says otherwise; the JSON has all."""
NAMES_MAX = 3
"""Runs that a cell names."""


class Section(NamedTuple):
    """A heading, a sentence or two, and a table.

    Attributes:
        title: the heading.
        lead: what is before the table; may be empty.
        head: names of columns; one that begins with ``>`` is of numbers, with a backtick of code, with a
            slash of runs: names of folders with spaces between.
        rows: plain texts, hostile ones as they are: whoever makes a page escapes them.
        note: what is behind the table; may be empty.
        targets: for each row, the id on the page that its first cell leads to; empty: to none. No targets at
            all: of no row.
        ids: for each row, its own id; alike.
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
