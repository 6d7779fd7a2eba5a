"""A section of a page: a heading, plain texts and a table, for any format."""

from typing import NamedTuple

ROWS_MAX = 200
"""Default maximum number of rows of a table; the JSON has all rows."""
NAMES_MAX = 3
"""Maximum number of runs that a cell names."""


class Section(NamedTuple):
    """A heading, texts, and a table.

    Attributes:
        title: the heading.
        lead: text before the table; may be empty.
        head: names of columns; the prefix ``>`` marks a column of numbers, a backtick one of code, a slash
            one of runs (names of folders separated by spaces).
        rows: plain texts, which are escaped when a page is rendered.
        note: text after the table; may be empty.
        targets: for each row, the id on the page to which its first cell links, or empty; an empty tuple if
            no row has a link.
        ids: for each row, its own id, likewise.
        rows_max: maximum number of rows that are shown.
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
    """A cell of runs: the first ones, and the number of the others."""
    more = f" +{len(folders) - NAMES_MAX:,}" if len(folders) > NAMES_MAX else ""
    return " ".join(folders[:NAMES_MAX]) + more
