"""Builds SVG as escaped markup; numbers are rounded to a hundredth of a unit."""

from collections.abc import Iterable

from markupsafe import Markup

Attribute = str | float | int | None
EMPTY = Markup("")


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """An element; children that are not markup are escaped, as attributes always are.

    Attribute names lose a trailing underscore (``class_``) and turn others into hyphens; None leaves one out.
    """
    inside = EMPTY.join(children)
    told = EMPTY.join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    if not inside:
        return Markup("<{}{}/>").format(tag, told)
    return Markup("<{}{}>{}</{}>").format(tag, told, inside, tag)


def group(children: Iterable[str], **attributes: Attribute) -> Markup:
    """A ``g`` element."""
    return element("g", *children, **attributes)


def text(x: float, y: float, content: str, **attributes: Attribute) -> Markup:
    """A text with its baseline at y."""
    return element("text", content, x=x, y=y, **attributes)


def title(content: str) -> Markup:
    """What a pointer that rests on the parent is shown."""
    return element("title", content)


def number(value: float) -> str:
    """A coordinate without needless digits, e.g. ``.5``; fine enough for a timeline that is zoomed in."""
    told = f"{value:.2f}".rstrip("0").rstrip(".")
    if told.startswith(("0.", "-0.")):
        return told.replace("0.", ".", 1)
    return "0" if told == "-0" else told


def _attribute(name: str, value: Attribute) -> Markup:
    told = number(value) if isinstance(value, float) else value
    return Markup(' {}="{}"').format(name.removesuffix("_").replace("_", "-"), told)
