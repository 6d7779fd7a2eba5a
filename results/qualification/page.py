"""A qualification as one HTML file that works offline, in the style of the reports of runs."""

from collections.abc import Mapping
from pathlib import Path

from results.markup.cleaning import clean
from results.qualification.comparison_sections import CHARTS_UNDER, measure_id, pair_ids
from results.qualification.deciding import Decision
from results.qualification.dots import paired_dots
from results.qualification.finding import AnomalyExplanation, CandidateAnomaly
from results.qualification.model import Qualification
from results.qualification.sections import facts_of, identity_of, sections_of
from results.qualification.texts import MAIL_TITLE, render_text, title_of
from results.report.drawing import glyphs
from results.sections.html import cleaned, environment_of, style_of

TEMPLATES = Path(__file__).parent / "templates"
_LOOKS = {
    Decision.QUALIFIED: "valid",
    Decision.NOT_QUALIFIED: "invalid",
    Decision.INCONCLUSIVE: "unknown",
}
_TEXT_MAX = 800
_COMMAND_MAX = 2_000
_NAME_MAX = 60
_PROOF_MAX = 24
_FOUND_MAX = 60
_RED = (AnomalyExplanation.UNEXPLAINED, AnomalyExplanation.DOUBTFUL)


def render_page(result: Qualification, places: Mapping[str, str] | None = None) -> str:
    """The page as text; all texts from runs are cleaned and escaped.

    Args:
        result: the qualification.
        places: address of each run's report, relative to the page, by name of the run's folder. Runs without
            an address are not linked.
    """
    return (
        environment_of(TEMPLATES).get_template("qualification.html.j2").render(_context(result, places or {}))
    )


def _context(result: Qualification, places: Mapping[str, str]) -> dict[str, object]:
    return style_of() | {
        "title": title_of(result),
        "decision": result.decision.value,
        "look": _LOOKS[result.decision],
        "why": clean(result.why, _TEXT_MAX),
        "reasons": [clean(reason.text, _TEXT_MAX) for reason in result.reasons],
        "gaps": [clean(gap, _TEXT_MAX) for gap in result.gaps],
        "claim": result.claim,
        "identity": cleaned(identity_of(result)),
        "found": [_finding(one, places) for one in result.found[:_FOUND_MAX]],
        "found_left_out": max(len(result.found) - _FOUND_MAX, 0),
        "sections": [cleaned(section, places) for section in sections_of(result)],
        "charts": _charts(result),
        "charts_under": CHARTS_UNDER,
        "mail_title": MAIL_TITLE,
        "mail": render_text(result),
        "rule": result.rule,
        "generated_at": clean(result.generated_at, _TEXT_MAX),
        "glyphs": glyphs,
    }


def _charts(result: Qualification) -> list[dict[str, object]]:
    """A chart of each compared duration, in the order of the table."""
    targets = pair_ids(result.comparisons)
    return [
        {
            "id": measure_id(result.comparisons, one.name),
            "name": clean(one.name, _TEXT_MAX),
            "says": one.finding,
            "chart": paired_dots(one, targets),
        }
        for one in result.comparisons.durations
    ]


def _finding(found: CandidateAnomaly, places: Mapping[str, str]) -> dict[str, object]:
    where = f"{found.scenario} ({found.mode})" if found.mode else found.scenario
    return {
        "id": clean(found.id, _TEXT_MAX),
        "where": clean(where, _TEXT_MAX),
        "red": found.standing in _RED,
        "summary": clean(found.example.summary, _TEXT_MAX),
        "facts": [(label, clean(text, _TEXT_MAX)) for label, text in facts_of(found)],
        "proof": [clean(line, _TEXT_MAX) for line in found.example.explanation[:_PROOF_MAX]],
        "command": clean(found.command, _COMMAND_MAX),
        "report": places.get(found.folder, ""),
    }
