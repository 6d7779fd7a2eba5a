"""The page of findings is read whole, and each finding is a ticket that has all of it."""

import re

import pytest

from harness.cli.findings.findings import PAGE
from results.findings.page import FACTS, Finding, PageError, anchor_of, read_findings
from results.findings.ticket import render_ticket
from results.markup.trackers import Format

SECTION = """\
# Findings

| finding | component | impact | how often |
|---|---|---|---|
| [a short name](#a-long-title) | raft | much | once |

## A long title

| | |
|---|---|
| versions | 4.3.1 |
| command | `krucible run x` |
| observed | it ends |
| expected | it goes on (KIP-1) |
| suspected | `Some.method` |

1. Do *this*.

```
12 s  {it} ends
```
"""
JIRA = """\
h1. A long title

Component: raft

h2. Versions

4.3.1

h2. Steps to reproduce

{{krucible run x}}

Commands of krucible need a checkout of it, and Docker.

# Do _this_.

{noformat}
12 s  {it} ends
{noformat}

h2. Observed

it ends

h2. Expected

it goes on (KIP-1)

h2. Suspected cause

{{Some.method}}

This cause comes from reading the source; no fix was tested.
"""
PAGE_TEXT = PAGE.read_text()
FINDINGS = read_findings(PAGE_TEXT)


def test_a_section_is_a_ticket() -> None:
    (finding,) = read_findings(SECTION)
    assert finding.name == "a-short-name"
    assert render_ticket(finding, Format.JIRA) == JIRA


def test_a_bar_in_a_fact_is_escaped_on_the_page_alone() -> None:
    page = SECTION.replace("`krucible run x`", "`krucible log \\| grep x`, a \\| b")
    (finding,) = read_findings(page)
    assert "`krucible log | grep x`, a | b" in render_ticket(finding, Format.MARKDOWN)
    assert "{{krucible log &#124; grep x}}, a \\| b" in render_ticket(finding, Format.JIRA)


def test_the_page_is_read_whole() -> None:
    assert len(FINDINGS) == PAGE_TEXT.count("\n## ")
    assert len({each.name for each in FINDINGS}) == len(FINDINGS)
    assert [each.facts.keys() - set(FACTS) for each in FINDINGS if each.facts.keys() - set(FACTS)] == []


def words(text: str) -> list[str]:
    """Words of letters and digits; entities of the wiki's code are read back."""
    plain = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), text).replace("\\", "")
    return re.findall(r"[^\W_]+", re.sub(r"\{noformat\}|^h\d\. |\(#[^)]*\)", " ", plain, flags=re.MULTILINE))


@pytest.mark.parametrize("finding", FINDINGS, ids=[each.name for each in FINDINGS])
@pytest.mark.parametrize("markup", list(Format))
def test_a_ticket_has_all_that_the_page_has(finding: Finding, markup: Format) -> None:
    text = render_ticket(finding, markup)
    ticket = words(text)
    for fact in (finding.title, finding.component, *finding.facts.values()):
        assert set(words(fact)) <= set(ticket)
    steps = [word for line in finding.rest.splitlines() for word in words(re.sub(r"^\d+\. ", "", line))]
    assert set(steps) <= set(ticket)
    assert words(text.splitlines()[0]) == words(finding.title)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("(#a-long-title)", "(#another)"), "the table at the top has no link to 'A long title'"),
        (("| versions | 4.3.1 |\n", ""), "facts of 'A long title' that are missing or unknown: versions"),
        (("| versions |", "| version |"), "facts of 'A long title' that are missing or unknown: versions"),
        (("| suspected |", "| guess | so |\n| suspected |"), "facts of 'A long title' .* guess"),
        (("| | |\n", ""), "no table of facts follows 'A long title'"),
        (
            ("| raft | much | once |", "| raft | much | once |\n| [b](#b) | raft | x | y |"),
            "2 findings, and 1 sections",
        ),
    ],
)
def test_a_page_that_is_written_otherwise_is_reported(change: tuple[str, str], what: str) -> None:
    with pytest.raises(PageError, match=what):
        read_findings(SECTION.replace(*change))


def test_an_anchor_is_that_of_github() -> None:
    assert anchor_of("A limit, `x.y` altered") == "a-limit-xy-altered"
