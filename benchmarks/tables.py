"""Markdown tables that appear row by row while a benchmark goes on."""

from collections.abc import Sequence


class Table:
    """Prints its head at once and each row when it is there.

    Args:
        columns: titles; the first `texts` columns stand to the left, the others are numbers.
        texts: how many columns are texts.
    """

    def __init__(self, columns: Sequence[str], texts: int = 0) -> None:
        self._width = len(columns)
        print(f"| {' | '.join(columns)} |")
        print(f"|{'---|' * texts}{'---:|' * (len(columns) - texts)}", flush=True)

    def row(self, *cells: object) -> None:
        """Print one row; every column has its cell."""
        if len(cells) != self._width:
            raise ValueError(f"{len(cells)} cells in a table of {self._width} columns")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
