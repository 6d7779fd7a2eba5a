"""How many seeded bugs were seen: pure from the records of runs to a page."""

from results.sensitivity.model import (
    Control,
    Ending,
    First,
    Reach,
    Sensitivity,
    Sought,
    Trial,
    ending_of,
    first_of,
)
from results.sensitivity.page import render_page
from results.sensitivity.texts import encode_sensitivity, headline, render_markdown

__all__ = [
    "Control",
    "Ending",
    "First",
    "Reach",
    "Sensitivity",
    "Sought",
    "Trial",
    "encode_sensitivity",
    "ending_of",
    "first_of",
    "headline",
    "render_markdown",
    "render_page",
]
