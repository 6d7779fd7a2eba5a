"""A measurement as Markdown, as JSON, and in one line."""

from collections.abc import Sequence

import msgspec

from results.markup.markdown import escaped, number
from results.sections.markdown import section_blocks
from results.sensitivity.comparing import claims_of, comparison_of
from results.sensitivity.model import Sensitivity, rate_of
from results.sensitivity.sections import alarms_text, rate_text, sections_of, without_rerun_text

COMPARISON = "Sensitivity: how many seeded bugs are seen"


def title_of(result: Sensitivity) -> str:
    """Version, preset and budget."""
    return f"Sensitivity on Kafka {result.version}, {result.preset} runs, budget {result.budget}"


def headline(result: Sensitivity) -> str:
    """Rate of bugs that were seen, and false alarms."""
    return f"Seen: {rate_text(rate_of(result.bugs))}{without_rerun_text(result)}; {alarms_text(result)}."


def lead_of(result: Sensitivity) -> str:
    """How the measurement was made."""
    duration_s = int(result.budget.split("x")[1])
    spent = f"{number(result.runs, 'run')} of {duration_s} s"
    lead = (
        f"Each bug was put into Kafka {result.version} by itself, and run with schedules of the preset "
        f"{result.preset} until it was seen or its budget was used up: {spent}. "
        f"The seed of the plan is {result.seed}."
    )
    if result.withheld:
        lead += f" Left out, because they do not fit this version: {', '.join(result.withheld)}."
    return " ".join(filter(None, (lead, java_text(result))))


def java_text(result: Sensitivity) -> str:
    """The bugs whose runs were not made because the host lacks kafka-clients; empty if there are none."""
    if not result.needing_java:
        return ""
    return (
        f"Runs of these bugs were not made, because they need kafka-clients, which this host does not offer "
        f"({result.java_missing}): {', '.join(result.needing_java)}."
    )


def render_markdown(result: Sensitivity) -> str:
    """The page, with a final newline."""
    blocks = [f"# {escaped(title_of(result))}", f"**{headline(result)}**", lead_of(result)]
    blocks += [block for section in sections_of(result) for block in section_blocks(section)]
    return "\n\n".join(blocks) + "\n"


def render_comparison(measured: Sequence[Sensitivity]) -> str:
    """Several measurements on one page, with a final newline."""
    claims = "\n".join(f"- {escaped(claim)}" for claim in claims_of(measured))
    blocks = [f"# {COMPARISON}", comparison_lead(measured), *([claims] if claims else [])]
    blocks += [block for section in comparison_of(measured) for block in section_blocks(section)]
    return "\n\n".join(blocks) + "\n"


def comparison_lead(measured: Sequence[Sensitivity]) -> str:
    """Text about the content of the page."""
    lead = (
        "We put bugs into Kafka, one at a time, and measure how many of them krucible sees. A control "
        "is the same run without the bug. An invalid control is a false alarm, unless its scenario permits "
        "the anomalies or a bug of Kafka itself causes them."
    )
    return lead if measured else f"{lead} No measurement is kept yet."


def encode_sensitivity(result: Sensitivity | Sequence[Sensitivity]) -> bytes:
    """One or more measurements as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"
