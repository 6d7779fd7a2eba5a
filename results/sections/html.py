"""Sections as HTML, in the style of the reports of runs."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

import jinja2
from markupsafe import Markup

from results.markup.cleaning import clean
from results.report import TEMPLATES as REPORT_TEMPLATES
from results.sections.section import Section

TEMPLATES = Path(__file__).parent / "templates"
_TEXT_MAX = 800
_NAME_MAX = 60
_KINDS = {">": "n", "`": "code", "/": "runs"}


def environment_of(templates: Path) -> jinja2.Environment:
    """Environment with the templates of a page and of sections; all values are escaped."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def style_of() -> dict[str, object]:
    """Input of a template's head: the style, and its hash for the content security policy."""
    files = (REPORT_TEMPLATES / "report.css", TEMPLATES / "sections.css")
    style = "\n".join(file.read_text(encoding="utf-8") for file in files)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "style": Markup(style),  # noqa: S704 - shipped with krucible, not from a run
        "style_hash": f"sha256-{digest}",
    }


def cleaned(section: Section, places: Mapping[str, str] | None = None) -> dict[str, object]:
    """A section for a template, with the kind of each column: numbers, code, runs or text.

    Args:
        section: the section.
        places: addresses of runs, as in `render_page`.
    """
    kinds = [_KINDS.get(name[:1], "") for name in section.head]
    names = [clean(name[1:] if name[:1] in _KINDS else name, _NAME_MAX) for name in section.head]
    none = ("",) * len(section.rows)
    rows = [
        {
            "id": own,
            "target": target,
            "cells": [(kind, _cell(kind, cell, places or {})) for kind, cell in zip(kinds, row, strict=True)],
        }
        for row, own, target in zip(section.rows, section.ids or none, section.targets or none, strict=True)
    ]
    return {
        "title": section.title,
        "lead": section.lead,
        "head": list(zip(kinds, names, strict=True)),
        "rows": rows,
        "note": clean(section.note, _TEXT_MAX),
    }


def _cell(kind: str, cell: str, places: Mapping[str, str]) -> object:
    """The content of a cell: a text, or in a column of runs, words with their links."""
    if kind != "runs":
        return clean(cell, _TEXT_MAX)
    return [(clean(word, _NAME_MAX), places.get(word, "")) for word in cell.split()]
