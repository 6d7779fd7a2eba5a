"""A measurement as Markdown, as JSON, and in one line."""

from collections.abc import Sequence

import msgspec

from results.markup.markdown import escaped, number
from results.sections.markdown import section_blocks
from results.sensitivity.comparing import claims_of, comparison_of
from results.sensitivity.model import Sensitivity, rate_of
from results.sensitivity.sections import alarms_text, rate_text, sections_of, without_rerun_text

COMPARISON = "Sensitivity: how many seeded bugs are seen"


def title_of(said: Sensitivity) -> str:
    """Version, preset and budget."""
    return f"Sensitivity on Kafka {said.version}, {said.preset} runs, budget {said.budget}"


def headline(said: Sensitivity) -> str:
    """Rate of bugs that were seen, and false alarms."""
    return f"Seen: {rate_text(rate_of(said.bugs))}{without_rerun_text(said)}; {alarms_text(said)}."


def lead_of(said: Sensitivity) -> str:
    """How the measurement was made."""
    duration_s = int(said.budget.split("x")[1])
    spent = f"{number(said.runs, 'run')} of {duration_s} s"
    lead = (
        f"Each bug was put into Kafka {said.version} by itself, and run with schedules of the preset "
        f"{said.preset} until it was seen or its budget was used up: {spent}. "
        f"The seed of the plan is {said.seed}."
    )
    if said.withheld:
        lead += f" Left out, because they do not fit this version: {', '.join(said.withheld)}."
    return " ".join(filter(None, (lead, java_text(said))))


def java_text(said: Sensitivity) -> str:
    """The bugs whose runs were not made because the host lacks kafka-clients; empty if there are none."""
    if not said.needing_java:
        return ""
    return (
        f"Runs of these bugs were not made, because they need kafka-clients, which this host does not offer "
        f"({said.java_missing}): {', '.join(said.needing_java)}."
    )


def render_markdown(said: Sensitivity) -> str:
    """The page, with a final newline."""
    blocks = [f"# {escaped(title_of(said))}", f"**{headline(said)}**", lead_of(said)]
    blocks += [block for section in sections_of(said) for block in section_blocks(section)]
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
        "is the same run without the bug. An invalid control is a false alarm."
    )
    return lead if measured else f"{lead} No measurement is kept yet."


def encode_sensitivity(said: Sensitivity | Sequence[Sensitivity]) -> bytes:
    """One or more measurements as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(said), indent=2) + b"\n"
