"""Writes the sections of a page as Markdown."""

from collections.abc import Iterator

from results.markup.markdown import code, escaped, table
from results.sections.section import Section


def section_blocks(section: Section) -> Iterator[str]:
    """A section's heading, lead, table and note."""
    yield f"## {section.title}"
    if section.lead:
        yield section.lead
    if section.rows:
        ways = [_code_cell if name.startswith(("`", "/")) else escaped for name in section.head]
        rows = [tuple(way(cell) for way, cell in zip(ways, row, strict=True)) for row in section.rows]
        yield table([_head(name) for name in section.head], rows)
    if section.note:
        yield escaped(section.note)


def _head(name: str) -> str:
    """A column's name for `table`, escaped because kinds of faults come from runs."""
    return (
        f">{escaped(name[1:])}" if name.startswith(">") else escaped(name.removeprefix("`").removeprefix("/"))
    )


def _code_cell(text: str) -> str:
    """A text as code in a table's cell; an empty text stays empty."""
    return f"`{code(text)}`" if text else ""
