"""Traces of a seeded bug in a node's log: installed, reached, triggered, or failed."""

import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from harness.seeded_bugs.script import PREFIX

_TRACE = re.compile(
    rf"{PREFIX} (?P<name>[a-z0-9-]+) (?P<what>installed|reached|triggered (?P<count>\d{{1,18}}))"
    r" at (?P<at>\d{4}-\d\d-\d\dT[0-9:.]+Z)"
)
_FAILED = re.compile(
    r"(?P<what>Rule\.ensureTypeCheckedCompiled : error .*|RuleTriggerMethodAdapter.* error .*"
    r"|org\.jboss\.byteman\.rule\.exception\.\w*Exception\b.*"
    r"|org\.jboss\.byteman\.agent\.Transformer : (?:Failed|Error|Unable).*)"
)
FAILURES_MAX = 5
"""That many of one node are kept."""


class BugStage(StrEnum):
    """How far a bug came in a run, as far as logs report; whether it was seen is the verdict's."""

    NOT_INJECTED = "not-injected"
    """No node logged that the bug was installed, or Byteman could not use a rule."""
    NEVER_REACHED = "never-reached"
    """Installed, and no node came to the place in the code."""
    NEVER_TRIGGERED = "never-triggered"
    """Nodes came there, and its condition was never met."""
    TRIGGERED = "triggered"


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """What the log of one node reports.

    Attributes:
        installed: number of starts of its JVM with the bug.
        reached: number of those in which the bug's place in the code was reached.
        triggered: least number of triggers: each JVM logs only the last power of ten.
        first_at: when it was first triggered, ISO 8601 in UTC; empty if never.
        failures: Byteman's errors about rules that it could not use, the first `FAILURES_MAX`.
    """

    installed: int = 0
    reached: int = 0
    triggered: int = 0
    first_at: str = ""
    failures: tuple[str, ...] = ()


def traces_in(log: str, name: str) -> Traces:
    """What a node's log reports about the bug of that name."""
    installed = reached = triggered = this_life = 0
    first_at = ""
    failures: list[str] = []
    for line in log.splitlines():
        if (trace := _TRACE.search(line)) and trace["name"] == name:
            if trace["count"] is not None:
                this_life = max(this_life, int(trace["count"]))
                first_at = first_at or trace["at"]
            elif trace["what"] == "installed":
                installed, triggered, this_life = installed + 1, triggered + this_life, 0
            else:
                reached += 1
        elif (failed := _FAILED.search(line)) and len(failures) < FAILURES_MAX:
            failures.append(failed["what"])
    return Traces(
        installed=installed,
        reached=reached,
        triggered=triggered + this_life,
        first_at=first_at,
        failures=tuple(failures),
    )


def stage_of(nodes: Iterable[Traces]) -> BugStage:
    """How far a bug came on any of the nodes; where Byteman could not use a rule, it was not injected."""
    known = tuple(nodes)
    if any(node.triggered for node in known):
        return BugStage.TRIGGERED
    if any(node.failures for node in known) or not any(node.installed for node in known):
        return BugStage.NOT_INJECTED
    return BugStage.NEVER_TRIGGERED if any(node.reached for node in known) else BugStage.NEVER_REACHED
