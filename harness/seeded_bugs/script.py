"""The Byteman script of a bug: its rules, and lines that log on stdout when a rule acts.

`harness.seeded_bugs.traces` reads those lines back.
"""

import re

from harness.seeded_bugs.header import COUNTS, SeededBug
from harness.seeded_bugs.variants import rules_for

PREFIX = "krucible-bug"
"""What every line begins with."""

_INSTALLED = """
RULE krucible tells that {name} is installed
CLASS kafka.Kafka$
METHOD main
AT ENTRY
IF TRUE
DO {action}
ENDRULE
"""
_CONDITION = re.compile(r"^IF (?P<condition>.*?)(?=^DO )", re.MULTILINE | re.DOTALL)


def script_of(bug: SeededBug, version: str) -> str:
    """The script that Byteman's agent gets on a version of Kafka; the bug's own rules keep their lines.

    A node's log then has one line when the JVM started with it, one when a rule's place in the code was first
    reached, and one at the first trigger, the tenth, the hundredth and so on, in each life of the JVM.
    """
    reached = f'(NOT flag("{PREFIX} {bug.name}") OR {_trace_line(bug, "reached")})'
    given = rules_for(bug, version)
    rules = _CONDITION.sub(lambda match: f"IF {reached} AND ({match['condition'].rstrip()})\n", given)
    rules = re.sub(COUNTS, lambda _: f"DO {_counted(bug)}", rules, flags=re.MULTILINE)
    return rules + _INSTALLED.format(name=bug.name, action=_trace_line(bug, "installed"))


def _counted(bug: SeededBug) -> str:
    """Count a trigger, and log the first, the tenth, the hundredth and so on."""
    counter = f'"{PREFIX} {bug.name}"'
    number = f'" + readCounter({counter}) + "'
    power_of_ten = f'String.valueOf(incrementCounter({counter}, 1)).matches("10*")'
    return f"{power_of_ten} AND {_trace_line(bug, f'triggered {number}')}"


def _trace_line(bug: SeededBug, what: str) -> str:
    return f'traceln("{PREFIX} {bug.name} {what} at " + java.time.Instant.now())'
