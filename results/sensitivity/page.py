"""What was found of seeded bugs as one HTML file that opens from disk, dressed like a qualification."""

from pathlib import Path

import jinja2

from results.cleaning import clean
from results.qualification.page import TEMPLATES, cleaned, style_of
from results.sensitivity.model import Sensitivity
from results.sensitivity.sections import sections_of
from results.sensitivity.texts import headline, lead_of, title_of

_OWN = Path(__file__).parent / "templates"
_TEXT_MAX = 4_000


def render_page(said: Sensitivity) -> str:
    """The page as text; whatever comes from runs is cleaned and escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([_OWN, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("sensitivity.html.j2").render(
        **style_of(),
        title=clean(title_of(said), _TEXT_MAX),
        headline=clean(headline(said), _TEXT_MAX),
        lead=clean(lead_of(said), _TEXT_MAX),
        sections=[cleaned(section) for section in sections_of(said)],
    )
