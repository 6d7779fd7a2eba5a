"""How many seeded bugs were found: pure functions from the records of runs to a page."""

from results.sensitivity.model import (
    Accepted,
    BugOutcome,
    BugReach,
    BugRun,
    ControlRun,
    LeftOut,
    MadeAgain,
    MeasuredBug,
    Sensitivity,
    TimedAnomaly,
    ending_of,
    found_in,
)
from results.sensitivity.page import render_comparison_page, render_page
from results.sensitivity.texts import (
    encode_sensitivity,
    headline,
    java_text,
    render_comparison,
    render_markdown,
)

__all__ = [
    "Accepted",
    "BugOutcome",
    "BugReach",
    "BugRun",
    "ControlRun",
    "LeftOut",
    "MadeAgain",
    "MeasuredBug",
    "Sensitivity",
    "TimedAnomaly",
    "encode_sensitivity",
    "ending_of",
    "found_in",
    "headline",
    "java_text",
    "render_comparison",
    "render_comparison_page",
    "render_markdown",
    "render_page",
]
