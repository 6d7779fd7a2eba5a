"""A release qualification: pure functions from the records of runs to a decision and its reports."""

from results.qualification.assembling import qualify
from results.qualification.deciding import Decision
from results.qualification.model import ComparisonQuestion, Qualification
from results.qualification.page import render_page
from results.qualification.records import (
    KnownAnomaly,
    OtherRun,
    PlannedRun,
    QualificationRole,
    QualificationRun,
    failed_run,
    run_of,
)
from results.qualification.texts import (
    encode_qualification,
    markdown_blocks,
    render_markdown,
    render_text,
)

__all__ = [
    "ComparisonQuestion",
    "Decision",
    "KnownAnomaly",
    "OtherRun",
    "PlannedRun",
    "Qualification",
    "QualificationRole",
    "QualificationRun",
    "encode_qualification",
    "failed_run",
    "markdown_blocks",
    "qualify",
    "render_markdown",
    "render_page",
    "render_text",
    "run_of",
]
