"""Markup of trackers: GitHub's Markdown, and the wiki markup of Kafka's JIRA.

Texts from records and logs are written as code, where they can't be markup or mention a user.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Protocol

from results.markup.cleaning import clean
from results.markup.markdown import table

_LINE_MAX = 1_000
_LINES_MAX = 40
_VALUE_MAX = 300
_ALL = 1 << 20


class Format(StrEnum):
    """The markup language of an issue tracker."""

    MARKDOWN = "markdown"
    JIRA = "jira"


class Markup(Protocol):
    """Writes headings, code and tables for a tracker."""

    def heading(self, level: int, text: str) -> str:
        """A heading; the text is already markup."""

    def bold(self, text: str) -> str:
        """A bold paragraph; the text is krucible's own and is not escaped."""

    def code(self, text: str, limit: int = _VALUE_MAX) -> str:
        """Any text as inline code."""

    def block(self, lines: Iterable[str], language: str = "text", *, cut: bool = True) -> str:
        """Any lines as a block of code; with `cut`, long lines and many lines are cut."""

    def table(self, head: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
        """A table of names, each with any text as code."""

    def items(self, texts: Iterable[str]) -> str:
        """A list; the texts are already markup."""


class Markdown:
    """CommonMark with GitHub's tables."""

    def heading(self, level: int, text: str) -> str:
        """A heading with hashes."""
        return f"{'#' * level} {text}"

    def bold(self, text: str) -> str:
        """Text between pairs of asterisks."""
        return f"**{text}**"

    def code(self, text: str, limit: int = _VALUE_MAX) -> str:
        """A code span that is valid for any backticks in the text."""
        cleaned = clean(text, limit) or " "
        ticks = "`" * (_longest_run(cleaned) + 1)
        pad = " " if cleaned.startswith("`") or cleaned.endswith("`") else ""
        return f"{ticks}{pad}{cleaned}{pad}{ticks}"

    def block(self, lines: Iterable[str], language: str = "text", *, cut: bool = True) -> str:
        """A block of code; its fence is longer than any inside."""
        body = _body(lines, cut=cut)
        fence = "`" * max(3, _longest_run(body) + 1)
        return f"{fence}{language}\n{body}\n{fence}"

    def table(self, head: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
        """A table; bars in cells are escaped."""
        return table(head, [(name, self.code(value).replace("|", "\\|")) for name, value in rows])

    def items(self, texts: Iterable[str]) -> str:
        """A list with hyphens."""
        return "\n".join(f"- {text}" for text in texts)


class Jira:
    """JIRA's text formatting notation."""

    _SPECIAL = re.compile(r"[\\{}\[\]|!*_+^~?&<>#]|(?<!\w)-|-(?!\w)")

    def heading(self, level: int, text: str) -> str:
        """A heading such as ``h1. text``."""
        return f"h{level}. {text}"

    def bold(self, text: str) -> str:
        """Text between single asterisks."""
        return f"*{text}*"

    def code(self, text: str, limit: int = _VALUE_MAX) -> str:
        """Monospaced text; characters that may begin markup are written as entities."""
        cleaned = clean(text, limit) or " "
        return "{{" + self._SPECIAL.sub(lambda found: f"&#{ord(found[0])};", cleaned) + "}}"

    def block(self, lines: Iterable[str], language: str = "text", *, cut: bool = True) -> str:
        """A ``noformat`` block; a space is put into an end tag inside of the text."""
        del language  # macros inside of a code block would be executed
        body = _body(lines, cut=cut).replace("{noformat", "{ noformat")
        return f"{{noformat}}\n{body}\n{{noformat}}"

    def table(self, head: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
        """A head between double bars, and a row for each fact."""
        first = "||" + "||".join(head) + "||"
        return "\n".join((first, *(f"|{name}|{self.code(value)}|" for name, value in rows)))

    def items(self, texts: Iterable[str]) -> str:
        """A list with asterisks."""
        return "\n".join(f"* {text}" for text in texts)


MARKUPS: dict[Format, Markup] = {Format.MARKDOWN: Markdown(), Format.JIRA: Jira()}


def title_and_body(text: str) -> tuple[str, str]:
    """Split a text that begins with a heading: its title without the heading's markup, and what follows it.

    Trackers have a field for each.
    """
    heading, _, body = text.partition("\n")
    return heading.partition(" ")[2], body.lstrip("\n")


def _body(lines: Iterable[str], *, cut: bool) -> str:
    kept = list(lines)
    if not cut:
        return "\n".join(clean(line, _ALL) for line in kept)
    cleaned = [clean(line, _LINE_MAX) for line in kept[:_LINES_MAX]]
    if len(kept) > _LINES_MAX:
        cleaned.append(f"… and {len(kept) - _LINES_MAX:,} more lines")
    return "\n".join(cleaned)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
