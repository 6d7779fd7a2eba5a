"""Shows whether a stored run had the seeded bug of a planned one; pure."""

from harness.plan.digest import digest_of_text
from harness.seeded_bugs.header import SeededBug
from harness.seeded_bugs.script import script_of

_NODES = "# nodes:"


def bug_digest(bug: SeededBug) -> str:
    """Digest of a bug's effects: its rules, and the roles of the nodes that get them.

    Texts of the header and expected anomalies are left out, because they do not change a run.
    """
    return digest_of_text(_essence(bug.rules))


def is_script_of(script: str, bug: SeededBug) -> bool:
    """Whether the script on a run's nodes is that of a bug, by the same digest."""
    return _essence(script) == _essence(script_of(bug))


def _essence(rules: str) -> str:
    lines = rules.splitlines()
    return "\n".join(line.rstrip() for line in lines if line.startswith(_NODES) or not line.startswith("#"))
