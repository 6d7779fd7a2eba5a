"""A finding as the text of a ticket: title, versions, steps, observed, expected, cause, workaround."""

from collections.abc import Callable, Iterator

from results.findings.page import Finding
from results.findings.wiki import wiki_of
from results.markup.trackers import Format

_HEADINGS = {
    "versions": "Versions",
    "observed": "Observed",
    "worst case": "Worst case",
    "also": "Also observed",
    "when": "When",
    "until": "Until",
    "impact": "Impact",
    "affected": "Who is affected",
    "expected": "Expected",
    "suspected": "Suspected cause",
    "workaround": "Workaround",
}
"""Facts in the order of a ticket, each with its heading; the command is at the end."""
_SUSPICION = "This cause comes from reading the source; no fix was tested."
_FUNCTIONS = (
    "The steps are for bash, in the folder of a tarball of Kafka 4.2 or later. They use these functions:"
)
_SHELL = "```sh"
_NEEDS = "This needs a checkout of krucible, and Docker."
_FORMATS: dict[Format, Callable[[str], str]] = {
    Format.JIRA: lambda markdown: f"{wiki_of(markdown)}\n",
    Format.MARKDOWN: str,
}


def render_ticket(finding: Finding, markup: Format) -> str:
    """The ticket's text, with a newline at its end; its first line is the title."""
    return _FORMATS[markup]("\n\n".join(_blocks(finding)) + "\n")


def _blocks(finding: Finding) -> Iterator[str]:
    yield f"# {finding.title}"
    yield f"Component: {finding.component}"
    for name, heading in _HEADINGS.items():
        if name in finding.facts:
            yield from (f"### {heading}", finding.facts[name])
        if name == "versions":
            yield from ("### Steps to reproduce", *_steps(finding))
        if name == "suspected":
            yield _SUSPICION
    if finding.rest:
        yield from ("### Seen in runs", finding.rest)
    yield from ("### The same with krucible", finding.facts["command"], _NEEDS)


def _steps(finding: Finding) -> Iterator[str]:
    if finding.functions and _SHELL in finding.steps:
        yield from (_FUNCTIONS, finding.functions)
    yield finding.steps
