"""Translates Markdown to the wiki markup of Kafka's JIRA.

Headings, paragraphs, lists, tables, code, emphasis and links are translated; anything else raises an error,
so that no text is lost.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from results.markup.trackers import Jira

_PARSER = MarkdownIt("commonmark").enable("table")
_SPECIAL = re.compile(r"[\\{}\[\]|*_^~!#]|(?<!\w)[-+](?=\w)|(?<=\w)[-+](?!\w)")
_MARKS = {"em": "_", "strong": "*"}
_LISTS = {"bullet_list_open": "*", "ordered_list_open": "#"}
_SHELL = "sh"
"""The language of blocks that become ``code``, with bash's colours; all others become ``noformat``."""
_JIRA = Jira()


class UntranslatableError(ValueError):
    """A piece of Markdown that this module can't translate."""


def wiki_of(markdown: str) -> str:
    """Translate blocks of Markdown, with an empty line between two.

    Raises:
        UntranslatableError: for HTML, images, quotes, and blocks or lists within lists.
    """
    return "\n\n".join(_blocks(_PARSER.parse(markdown)))


def wiki_of_line(markdown: str) -> str:
    """Translate inline Markdown.

    Raises:
        UntranslatableError: for HTML and images.
    """
    (inline,) = _PARSER.parseInline(markdown)
    return _line(inline)


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """Each top-level block, from its tokens."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield _block(block)
            block = []


def _block(tokens: Sequence[Token]) -> str:
    first = tokens[0]
    if first.type == "paragraph_open":
        return _line(tokens[1])
    if first.type == "heading_open":
        return _JIRA.heading(int(first.tag[1:]), _line(tokens[1]))
    if first.type == "fence" and first.info == _SHELL:
        return _shell(first.content)
    if first.type in {"fence", "code_block"}:
        return _JIRA.block(first.content.splitlines(), cut=False)
    if first.type in _LISTS:
        return "\n".join(_items(_LISTS[first.type], tokens))
    if first.type == "table_open":
        return "\n".join(_rows(tokens))
    raise UntranslatableError(f"{first.type} in line {(first.map or [0])[0] + 1}")


def _shell(content: str) -> str:
    if "{code" in content:
        raise UntranslatableError("a tag of a block of code within a block of code")
    return f"{{code:bash}}\n{content}{{code}}"


def _items(mark: str, tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens[1:-1]:
        if token.type in _LISTS:
            raise UntranslatableError("a list within a list")
        if token.type in {"fence", "code_block"}:
            raise UntranslatableError("a block within a list")
        if token.type == "inline":
            yield f"{mark} {_line(token)}"


def _rows(tokens: Sequence[Token]) -> Iterator[str]:
    """Rows of a table, the head between double bars; rows with only empty cells are left out."""
    bar, cells = "||", list[str]()
    for token in tokens:
        if token.type == "tbody_open":
            bar = "|"
        elif token.type == "inline":
            cells.append(_line(token))
        elif token.type == "tr_close":
            if any(cells):
                yield f"{bar}{bar.join(cell or ' ' for cell in cells)}{bar}"
            cells = []


def _line(inline: Token) -> str:
    return "".join(_pieces(inline.children or []))


def _pieces(tokens: Sequence[Token]) -> Iterator[str]:
    ends: list[str] = []
    for token in tokens:
        kind = token.type.rpartition("_")[0]
        if token.type == "text":
            yield _SPECIAL.sub(r"\\\g<0>", token.content)
        elif token.type == "softbreak":
            yield " "
        elif token.type == "code_inline":
            yield _JIRA.code(token.content, len(token.content))
        elif kind in _MARKS:
            yield _MARKS[kind]
        elif token.type == "link_open":
            target = str(token.attrs["href"])
            whole = target.startswith("https://")
            ends.append(f"|{target}]" if whole else "")
            yield "[" if whole else ""
        elif token.type == "link_close":
            yield ends.pop()
        else:
            raise UntranslatableError(f"{token.type} within a line")
