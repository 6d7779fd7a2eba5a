"""Reads the page of findings.

A section begins with a heading and a table of facts (`FACTS`).  What was seen in runs follows as Markdown,
and at the end, below a heading of their own, the steps that reproduce the defect.  The table at the top of
the page has a short name and Kafka's component for each section.  The shell functions of the steps follow it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

REQUIRED = ("versions", "command", "observed", "expected", "suspected")
"""Facts that each section must have."""
FACTS = (*REQUIRED, "worst case", "also", "affected", "impact", "when", "until", "workaround")
_LISTED = re.compile(r"\| \[(?P<short>[^\]]+)\]\(#(?P<anchor>[^)]+)\) \| (?P<component>[^|]+) \|")
_FACT = re.compile(r"\| (?P<fact>[a-z ]+) \| (?P<text>.+) \|")
_HEAD = ("| | |", "|---|---|")
_STEPS = "### Steps"
_FUNCTIONS = re.compile(r"^```sh\n.*?^```$", re.MULTILINE | re.DOTALL)


class PageError(ValueError):
    """The page of findings has another format than this module reads; the message has the section."""


class Finding(msgspec.Struct, frozen=True):
    """One section of the page.

    Attributes:
        name: short name, words joined by hyphens.
        title: the heading.
        component: component of Kafka.
        facts: inline Markdown, by the names in `FACTS`.
        rest: the Markdown after the facts, up to the steps.
        steps: Markdown that says how to reproduce it.
        functions: a block of Markdown with the shell functions that the steps of all findings use; empty if
            the page has none.
    """

    name: str
    title: str
    component: str
    facts: Mapping[str, str]
    rest: str
    steps: str
    functions: str


def read_findings(page: str) -> tuple[Finding, ...]:
    """All findings of a page, in its order.

    Raises:
        PageError: if a section is not in the table at the top, or lacks a fact or steps.
    """
    top, *sections = re.split(r"^## ", page, flags=re.MULTILINE)
    listed = {found["anchor"]: found for found in _LISTED.finditer(top)}
    block = _FUNCTIONS.search(top)
    functions = block[0] if block else ""
    findings = tuple(_finding(section, listed, functions) for section in sections)
    if len(listed) != len(findings):
        raise PageError(
            f"the table at the top has {len(listed)} findings, and {len(findings)} sections follow"
        )
    return findings


def _finding(section: str, listed: Mapping[str, re.Match[str]], functions: str) -> Finding:
    title, *lines = section.strip().splitlines()
    row = listed.get(anchor_of(title))
    if row is None:
        raise PageError(f"the table at the top has no link to {title!r}")
    if tuple(lines[1:3]) != _HEAD:
        raise PageError(f"no table of facts follows {title!r}")
    facts = dict(_facts(lines[3:]))
    lacking = [name for name in REQUIRED if name not in facts] or sorted(facts.keys() - set(FACTS))
    if lacking:
        raise PageError(f"facts of {title!r} that are missing or unknown: {', '.join(lacking)}")
    rest, _, steps = "\n".join(lines[3 + len(facts) :]).partition(f"\n{_STEPS}\n")
    if not steps.strip():
        raise PageError(f"no steps below {_STEPS!r} in {title!r}")
    name = _hyphened(row["short"])
    return Finding(name, title, row["component"].strip(), facts, rest.strip(), steps.strip(), functions)


def _facts(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        found = _FACT.fullmatch(line)
        if found is None:
            return
        # A bar is escaped in tables only.
        yield found["fact"], found["text"].strip().replace("\\|", "|")


def anchor_of(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _hyphened(short: str) -> str:
    return "-".join(re.findall(r"[\w.]+", short.lower()))
