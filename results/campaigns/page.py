"""A campaign's summary as one HTML file that works offline, in the style of the reports of runs."""

from collections.abc import Mapping
from pathlib import Path

from results.campaigns.sections import (
    ALL_RUNS,
    anomaly_sections,
    counted,
    done_sections,
    facts_of,
    seed_of,
    title_of,
    troubled,
)
from results.campaigns.summary import Outcome, RunOutcome, Summary
from results.markup.cleaning import clean
from results.report.drawing import glyphs
from results.sections.html import cleaned, environment_of, style_of
from results.sections.section import Section

_OWN = Path(__file__).parent / "templates"
_TEXT_MAX = 800
_TROUBLED_MAX = 100
_RUNS_MAX = 1_000
_LOOKS = {
    Outcome.INVALID: "invalid",
    Outcome.FAILED: "unknown",
    Outcome.UNKNOWN: "unknown",
    Outcome.VALID: "valid",
}


def render_campaign_page(summary: Summary, reports: Mapping[str, str]) -> str:
    """The page as text; all texts from runs are cleaned and escaped.

    Args:
        summary: summary of the runs.
        reports: address of each run's report, relative to the page, by name of the run's folder. Runs without
            an address are not linked.
    """
    runs = troubled(summary)
    return (
        environment_of(_OWN)
        .get_template("campaign.html.j2")
        .render(
            **style_of(),
            title=clean(title_of(summary), _TEXT_MAX),
            outcome=summary.outcome.capitalize(),
            look=_LOOKS[summary.outcome],
            glyphs=glyphs,
            counted=counted(summary),
            troubled=[_trouble(run, reports) for run in runs[:_TROUBLED_MAX]],
            left_out=max(len(runs) - _TROUBLED_MAX, 0),
            elsewhere=f"among all runs. {ALL_RUNS}"
            if len(summary.runs) > _RUNS_MAX
            else "in the table of runs.",
            sections=[cleaned(section, reports) for section in _sections(summary)],
        )
    )


def _sections(summary: Summary) -> tuple[Section, ...]:
    facts = Section("What was done", "", ("fact", "value"), tuple(facts_of(summary)))
    return (*anomaly_sections(summary), facts, *done_sections(summary, _RUNS_MAX))


def _trouble(run: RunOutcome, reports: Mapping[str, str]) -> dict[str, object]:
    return {
        "look": _LOOKS[run.outcome],
        "outcome": run.outcome.capitalize(),
        "seed": seed_of(run),
        "folder": clean(run.folder, _TEXT_MAX),
        "report": reports.get(run.folder, ""),
        "why": [clean(reason, _TEXT_MAX) for reason in run.why],
        "again": clean(run.identity.reproduce, _TEXT_MAX) if run.identity else "",
    }
