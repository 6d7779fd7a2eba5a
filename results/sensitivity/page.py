"""A measurement as one HTML file that works offline, in the style of a qualification."""

from collections.abc import Sequence
from pathlib import Path

from results.markup.cleaning import clean
from results.sections.html import cleaned, environment_of, style_of
from results.sections.section import Section
from results.sensitivity.comparing import claims_of, comparison_of
from results.sensitivity.model import Sensitivity
from results.sensitivity.sections import sections_of
from results.sensitivity.texts import COMPARISON, comparison_lead, headline, lead_of, title_of

_OWN = Path(__file__).parent / "templates"
_TEXT_MAX = 4_000


def render_page(result: Sensitivity) -> str:
    """The page as text; all texts from runs are cleaned and escaped."""
    return _rendered(title_of(result), [headline(result)], lead_of(result), sections_of(result))


def render_comparison_page(measured: Sequence[Sensitivity]) -> str:
    """Several measurements on one page; texts are cleaned and escaped too."""
    return _rendered(COMPARISON, claims_of(measured), comparison_lead(measured), comparison_of(measured))


def _rendered(title: str, claims: Sequence[str], lead: str, sections: Sequence[Section]) -> str:
    return (
        environment_of(_OWN)
        .get_template("sensitivity.html.j2")
        .render(
            **style_of(),
            title=clean(title, _TEXT_MAX),
            claims=[clean(claim, _TEXT_MAX) for claim in claims],
            lead=clean(lead, _TEXT_MAX),
            sections=[cleaned(section) for section in sections],
        )
    )
