"""Shows whether a stored run had the seeded bug of a planned one; pure."""

from harness.plan.digest import digest_of_text
from harness.seeded_bugs.header import SeededBug
from harness.seeded_bugs.script import script_of
from harness.seeded_bugs.variants import rules_for

_NODES = "# nodes:"


def bug_digest(bug: SeededBug, version: str) -> str:
    """Digest of a bug's effects on a version: its rules, and the roles of the nodes that get them.

    Texts of the header and expected anomalies are left out, because they do not change a run.
    """
    return digest_of_text(_essence(rules_for(bug, version)))


def is_script_of(script: str, bug: SeededBug, version: str) -> bool:
    """Whether the script on a run's nodes is that of a bug on a version, by the same digest."""
    return _essence(script) == _essence(script_of(bug, version))


def _essence(rules: str) -> str:
    lines = rules.splitlines()
    return "\n".join(line.rstrip() for line in lines if line.startswith(_NODES) or not line.startswith("#"))
