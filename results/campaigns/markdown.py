"""A campaign's summary as a Markdown page: problems first, then what was done, then all runs."""

from collections.abc import Iterator

from results.campaigns.sections import (
    MARKS,
    anomaly_sections,
    counted,
    done_sections,
    facts_of,
    seed_of,
    title_of,
    troubled,
)
from results.campaigns.summary import Summary
from results.markup.markdown import code, escaped
from results.sections.markdown import section_blocks


def render_campaign(summary: Summary) -> str:
    """The page, with a final newline."""
    blocks = [
        f"# {escaped(title_of(summary))}",
        f"{MARKS[summary.outcome]} **{summary.outcome.capitalize()}**: {counted(summary)}",
        *_troubles(summary),
        *(block for section in anomaly_sections(summary) for block in section_blocks(section)),
        "## What was done",
        *what_ran(summary),
        *(block for section in done_sections(summary) for block in section_blocks(section)),
    ]
    return "\n\n".join(blocks) + "\n"


def what_ran(summary: Summary) -> Iterator[str]:
    """Commits, versions, hosts and times, as a list."""
    yield "\n".join(f"- {name}: {escaped(value)}" for name, value in facts_of(summary))


def _troubles(summary: Summary) -> Iterator[str]:
    """All runs with problems: the reasons, and the command that repeats the run."""
    runs = troubled(summary)
    if runs:
        yield "## To look at"
    for run in runs:
        lines = [f"- {MARKS[run.outcome]} seed {seed_of(run)}, {run.outcome}, `{code(run.folder)}`"]
        lines += [f"  - {escaped(reason)}" for reason in run.why]
        if run.identity is not None:
            lines.append(f"  - again: `{code(run.identity.reproduce)}`")
        yield "\n".join(lines)
