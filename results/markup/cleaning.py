"""Makes text from records, logs and clients harmless: visible, on one line, and short.

Templates escape HTML.  This module handles text that is harmful even when escaped: control characters (with
ANSI escapes), characters that change the direction of writing, lone surrogates (which UTF-8 can't encode),
and very long texts.
"""

import json
import re

_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0 and C1 controls
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"  # invisible or turning
    "\ud800-\udfff"  # surrogates
    "\U000e0000-\U000e007f"  # tags
    "]"
)
_COMBINING_MAX = re.compile(
    "([\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{4})[\u0300-\u036f\u1ab0-\u20ff]+"
)
_PLAIN = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def clean(text: str, limit: int) -> str:
    r"""One visible line of at most about `limit` characters.

    Unsafe characters are written as escapes (``\x1b``, ``\u202e``); a longer text is cut, and its length is
    added.
    """
    kept = text if len(text) <= limit else text[:limit]
    visible = _COMBINING_MAX.sub(r"\1", _UNSAFE.sub(_escaped, kept))
    return visible if len(text) <= limit else f"{visible}… ({len(text):,} characters)"


def clean_value(value: object, limit: int) -> str:
    """A JSON value as one visible line of compact JSON; None is empty, a text has no quotes."""
    if value is None:
        return ""
    return clean(value if isinstance(value, str) else _as_json(value), limit)


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        return f"({type(value).__name__} that can't be shown)"


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    width = 2 if code <= 0xFF else 4 if code <= 0xFFFF else 8  # noqa: PLR2004 - the widths of Python's escapes
    return _PLAIN.get(character) or f"\\{' xuU'[width.bit_length() - 1]}{code:0{width}x}"
