"""Builds SVG as escaped markup. Numbers are rounded to hundredths."""

from collections.abc import Iterable

from markupsafe import Markup

Attribute = str | float | int | None
EMPTY = Markup("")


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """An element. Attributes are escaped, and so are children that are not markup.

    In names of attributes a trailing underscore is removed (``class_``) and others become hyphens.
    An attribute that is None is left out.
    """
    inside = EMPTY.join(children)
    written = EMPTY.join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    if not inside:
        return Markup("<{}{}/>").format(tag, written)
    return Markup("<{}{}>{}</{}>").format(tag, written, inside, tag)


def group(children: Iterable[str], **attributes: Attribute) -> Markup:
    """A ``g`` element."""
    return element("g", *children, **attributes)


def text(x: float, y: float, content: str, **attributes: Attribute) -> Markup:
    """A text with its baseline at y."""
    return element("text", content, x=x, y=y, **attributes)


def title(content: str) -> Markup:
    """The tooltip of the parent element."""
    return element("title", content)


def number(value: float) -> str:
    """A coordinate without unnecessary digits, e.g. ``.5``; precise enough for a zoomed timeline."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    if text.startswith(("0.", "-0.")):
        return text.replace("0.", ".", 1)
    return "0" if text == "-0" else text


def _attribute(name: str, value: Attribute) -> Markup:
    text = number(value) if isinstance(value, float) else value
    return Markup(' {}="{}"').format(name.removesuffix("_").replace("_", "-"), text)
