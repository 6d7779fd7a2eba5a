"""The page of findings is read whole, and each finding is a ticket that has all of it."""

import re
import subprocess

import pytest

from harness.cli.findings.findings import PAGE
from results.findings.page import FACTS, Finding, PageError, anchor_of, read_findings
from results.findings.ticket import render_ticket
from results.markup.trackers import Format
from tests.steps import CLASSES, shell_of

SECTION = """\
# Findings

| finding | component | impact | how often |
|---|---|---|---|
| [a short name](#a-long-title) | raft | much | once |

```sh
start() { echo $1; }
```

## A long title

| | |
|---|---|
| versions | 4.3.1 |
| command | `krucible run x` |
| observed | it ends |
| expected | it goes on (KIP-1) |
| suspected | `Some.method` |

Before it *ended*:

```
12 s  {it} ends
```

### Steps

```sh
start 1
```

The node ends.
"""
JIRA = """\
h1. A long title

Component: raft

h3. Versions

4.3.1

h3. Steps to reproduce

The steps are for bash, in the folder of a tarball of Kafka 4.2 or later. They use these functions:

{code:bash}
start() { echo $1; }
{code}

{code:bash}
start 1
{code}

The node ends.

h3. Observed

it ends

h3. Expected

it goes on (KIP-1)

h3. Suspected cause

{{Some.method}}

This cause comes from reading the source; no fix was tested.

h3. Seen in runs

Before it _ended_:

{noformat}
12 s  {it} ends
{noformat}

h3. The same with krucible

{{krucible run x}}

This needs a checkout of krucible, and Docker.
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
    marks = r"\{noformat\}|\{code(:bash)?\}|^```sh$|^h\d\. |\(#[^)]*\)"
    return re.findall(r"[^\W_]+", re.sub(marks, " ", plain, flags=re.MULTILINE))


@pytest.mark.parametrize("finding", FINDINGS, ids=[each.name for each in FINDINGS])
@pytest.mark.parametrize("markup", list(Format))
def test_a_ticket_has_all_that_the_page_has(finding: Finding, markup: Format) -> None:
    text = render_ticket(finding, markup)
    ticket = words(text)
    for fact in (finding.title, finding.component, *finding.facts.values()):
        assert set(words(fact)) <= set(ticket)
    further = f"{finding.rest}\n{finding.steps}".splitlines()
    assert {word for line in further for word in words(re.sub(r"^\d+\. ", "", line))} <= set(ticket)
    assert words(text.splitlines()[0]) == words(finding.title)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("(#a-long-title)", "(#another)"), "the table at the top has no link to 'A long title'"),
        (("| versions | 4.3.1 |\n", ""), "facts of 'A long title' that are missing or unknown: versions"),
        (("| versions |", "| version |"), "facts of 'A long title' that are missing or unknown: versions"),
        (("| suspected |", "| guess | so |\n| suspected |"), "facts of 'A long title' .* guess"),
        (("| | |\n", ""), "no table of facts follows 'A long title'"),
        (("### Steps", "### Stages"), "no steps below '### Steps' in 'A long title'"),
        (
            ("| raft | much | once |", "| raft | much | once |\n| [b](#b) | raft | x | y |"),
            "2 findings, and 1 sections",
        ),
    ],
)
def test_a_page_that_is_written_otherwise_is_reported(change: tuple[str, str], what: str) -> None:
    with pytest.raises(PageError, match=what):
        read_findings(SECTION.replace(*change))


WITHOUT_TOOLS = frozenset(
    {
        "a-heartbeat-after-the-shutdown",  # sent late
        "a-refused-member-hides-offsets",  # the second JoinGroup of a client, between two others
        "an-older-instance-raises-its-epoch",  # InitProducerId with a chosen id and epoch
        "a-batch-that-arrives-twice",  # a Produce request that the network holds back
        "a-segment-that-lost-its-records",  # a loss of power between a roll and a sync
        "a-refused-write-is-confirmed",  # answers to acknowledgements, and elections within two seconds
        "offsets-before-a-failover",  # thousands of commits, and a fetch at the right moment
    }
)
"""Findings that need requests, or moments, that Kafka's tools can't provide."""


@pytest.mark.parametrize("finding", FINDINGS, ids=[each.name for each in FINDINGS])
def test_the_steps_of_a_ticket_need_kafka_alone(finding: Finding) -> None:
    text = render_ticket(finding, Format.JIRA)
    if finding.name in WITHOUT_TOOLS:
        assert "tool" in finding.steps, "the steps say why no tool of Kafka's does this"
        return
    steps, _, _ = text.partition("h3. Steps to reproduce")[2].partition("\nh3. ")
    assert "krucible" not in steps
    shell = shell_of(finding)
    assert set(re.findall(r"\bbin/kafka-(\S+)\.sh", shell)) <= CLASSES.keys()
    assert len(re.findall(r"\bbin/", shell)) == len(re.findall(r"\bbin/kafka-\S+\.sh", shell))
    subprocess.run(["bash", "-n"], input=shell, text=True, check=True)


@pytest.mark.parametrize("finding", FINDINGS, ids=[each.name for each in FINDINGS])
def test_a_ticket_is_complete(finding: Finding) -> None:
    text = render_ticket(finding, Format.JIRA)
    title, *headings = re.findall(r"^h(\d)\. (.+)$", text, re.MULTILINE)
    assert title[0] == "1"
    assert {level for level, _ in headings} == {"3"}
    required = {"Versions", "Steps to reproduce", "Observed", "Expected", "Suspected cause", "Workaround"}
    assert required - {name for _, name in headings} == set()
    assert re.search(r"KIP-|KAFKA-|KafkaConsumer|documentation|document", finding.facts["expected"])
    # Each block that is opened is closed.
    assert text.count("{code}") == text.count("{code:bash}")
    assert text.count("{noformat}") % 2 == 0


UNTRIED = frozenset({"a-state-that-is-initialised-again"})
"""Findings whose steps nobody has run yet."""
RUN = re.compile(r"Run as they stand here, on (\S+) .*, the steps showed the defect in", re.DOTALL)
"""What the steps of a finding say about themselves."""


@pytest.mark.parametrize("finding", FINDINGS, ids=[each.name for each in FINDINGS])
def test_the_page_tells_which_steps_were_run(finding: Finding) -> None:
    (row,) = re.findall(rf"^\| \[[^\]]+\]\(#{anchor_of(finding.title)}\) \|.*$", PAGE_TEXT, re.MULTILINE)
    run = RUN.search(finding.steps)
    untried = finding.name in UNTRIED
    without = "not run yet" if untried else "no tool can do it"
    told = f"on {run[1]}: shown" if run else without
    assert row.split(" | ")[-1] == f"{told} |"
    assert (run is None) is (untried or finding.name in WITHOUT_TOOLS)
    assert ("These steps have not been run yet." in finding.steps) is untried


def test_findings_without_tools_exist() -> None:
    assert (WITHOUT_TOOLS | UNTRIED) - {each.name for each in FINDINGS} == set()


def test_an_anchor_is_that_of_github() -> None:
    assert anchor_of("A limit, `x.y` altered") == "a-limit-xy-altered"
