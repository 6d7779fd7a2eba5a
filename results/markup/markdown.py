"""Pieces of Markdown pages: text that is only text, code that is only code, tables."""

import re
from collections.abc import Iterable, Sequence

from results.markup.cleaning import clean

_TEXT_MAX = 300
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")


def escaped(text: str) -> str:
    """Any text as plain text of a Markdown table or paragraph."""
    return _SPECIAL.sub(r"\\\1", clean(text, _TEXT_MAX))


def code(text: str) -> str:
    """Any text inside backticks, where nothing but a backtick ends it and a bar would end a cell."""
    return clean(text, _TEXT_MAX).replace("`", "'").replace("|", "/")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a head that begins with ``>`` is that of a column of numbers."""
    lines = [[name.removeprefix(">") for name in head], ["--:" if h.startswith(">") else "---" for h in head]]
    return "\n".join(f"| {' | '.join(line)} |" for line in (*lines, *rows))


def distinct(texts: Iterable[str]) -> list[str]:
    """Each text once, in the order of their first occurrence."""
    return list(dict.fromkeys(texts))


def number(count: int, thing: str) -> str:
    """A number with its noun, singular or plural."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
