"""Pieces of Markdown: escaped text, code, tables."""

import re
from collections.abc import Iterable, Sequence

from results.markup.cleaning import clean

_TEXT_MAX = 300
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")


def escaped(text: str) -> str:
    """Escape a text for a Markdown table or paragraph."""
    return _SPECIAL.sub(r"\\\1", clean(text, _TEXT_MAX))


def code(text: str) -> str:
    """Make a text safe between backticks, also in a table: backticks and bars are replaced."""
    return clean(text, _TEXT_MAX).replace("`", "'").replace("|", "/")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a head that begins with ``>`` marks a column of numbers."""
    lines = [[name.removeprefix(">") for name in head], ["--:" if h.startswith(">") else "---" for h in head]]
    return "\n".join(f"| {' | '.join(line)} |" for line in (*lines, *rows))


def distinct(texts: Iterable[str]) -> list[str]:
    """Each text once, in the order of first occurrence."""
    return list(dict.fromkeys(texts))


def number(count: int, thing: str) -> str:
    """A number with its noun, singular or plural."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
