"""Markup of trackers: Markdown, as GitHub has it, and the wiki markup of Kafka's JIRA.

Texts from records and logs are in code, where they are neither markup nor a mention of a user.
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
    """A tracker's markup."""

    MARKDOWN = "markdown"
    JIRA = "jira"


class Markup(Protocol):
    """How a tracker writes headings, code and tables."""

    def heading(self, level: int, text: str) -> str:
        """A heading; its text is markup already."""

    def bold(self, text: str) -> str:
        """A bold paragraph; its text is krucible's own."""

    def code(self, text: str, limit: int = _VALUE_MAX) -> str:
        """Any text within a line, as code."""

    def block(self, lines: Iterable[str], language: str = "text", *, cut: bool = True) -> str:
        """Any lines as a block of code; long ones, and those of many, are cut unless that is not wanted."""

    def table(self, head: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
        """Names, each with any text as code."""


class Markdown:
    """CommonMark with GitHub's tables."""

    def heading(self, level: int, text: str) -> str:
        """As many hashes as its level."""
        return f"{'#' * level} {text}"

    def bold(self, text: str) -> str:
        """Between two pairs of asterisks."""
        return f"**{text}**"

    def code(self, text: str, limit: int = _VALUE_MAX) -> str:
        """A code span that is valid whatever backticks are in the text."""
        cleaned = clean(text, limit) or " "
        ticks = "`" * (_longest_run(cleaned) + 1)
        pad = " " if cleaned.startswith("`") or cleaned.endswith("`") else ""
        return f"{ticks}{pad}{cleaned}{pad}{ticks}"

    def block(self, lines: Iterable[str], language: str = "text", *, cut: bool = True) -> str:
        """A block of code whose fence is longer than anything inside."""
        body = _body(lines, cut=cut)
        fence = "`" * max(3, _longest_run(body) + 1)
        return f"{fence}{language}\n{body}\n{fence}"

    def table(self, head: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
        """A table, in whose cells a bar is escaped."""
        return table(head, [(name, self.code(value).replace("|", "\\|")) for name, value in rows])


class Jira:
    """JIRA's text formatting notation."""

    _SPECIAL = re.compile(r"[\\{}\[\]|!*_+^~?&<>#]|(?<!\w)-|-(?!\w)")

    def heading(self, level: int, text: str) -> str:
        """Such as ``h1.``, before the text."""
        return f"h{level}. {text}"

    def bold(self, text: str) -> str:
        """Between two single asterisks."""
        return f"*{text}*"

    def code(self, text: str, limit: int = _VALUE_MAX) -> str:
        """Monospaced; characters that might begin markup are written by their numbers."""
        cleaned = clean(text, limit) or " "
        return "{{" + self._SPECIAL.sub(lambda found: f"&#{ord(found[0])};", cleaned) + "}}"

    def block(self, lines: Iterable[str], language: str = "text", *, cut: bool = True) -> str:
        """A block without any markup; only its own end could end it, and a space is put into that."""
        del language  # a block of code would take macros for code of that language
        body = _body(lines, cut=cut).replace("{noformat", "{ noformat")
        return f"{{noformat}}\n{body}\n{{noformat}}"

    def table(self, head: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
        """A row of names between double bars, and a row for each fact."""
        first = "||" + "||".join(head) + "||"
        return "\n".join((first, *(f"|{name}|{self.code(value)}|" for name, value in rows)))


MARKUPS: dict[Format, Markup] = {Format.MARKDOWN: Markdown(), Format.JIRA: Jira()}


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
