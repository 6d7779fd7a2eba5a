"""The rules of a bug that a version of Kafka gets; a rule may be for some of the versions only; pure."""

import re
from collections.abc import Sequence

from harness.seeded_bugs.header import VARIANT, SeededBug
from harness.vocabulary.version import parse_version

_VARIANT = re.compile(rf"^RULE [^\n]+\n{VARIANT}(?P<versions>[^\n]+)\n.*?^ENDRULE$", re.MULTILINE | re.DOTALL)


def rules_for(bug: SeededBug, version: str) -> str:
    """The bug's file without the rules that are for other versions.

    All other rules keep their lines.  The text of a version does not change if rules for another version are
    added at the end of the file, so that runs are still known to have had the same bug.
    """

    def kept(rule: re.Match[str]) -> str:
        return rule[0] if _is_one_of(version, rule["versions"].split()) else "\n" * rule[0].count("\n")

    return f"{_VARIANT.sub(kept, bug.rules).rstrip()}\n"


def _is_one_of(version: str, versions: Sequence[str]) -> bool:
    return parse_version(version) in map(parse_version, versions)
