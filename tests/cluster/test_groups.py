"""Consumer groups on a real cluster: members that come, go and stall, and what they commit too late."""

from pathlib import Path

import pytest

from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from harness.cli import invoke
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
GROUPS = {"group-kafka-python": "kafka-python", "group-confluent-kafka": "confluent-kafka"}
PARTITIONS = 6


def test_groups_of_both_libraries_are_given_everything_and_fence_who_is_late(tmp_path: Path) -> None:
    # In 30 s, all three members of a group may stall one after another, so that none reads a new generation.
    words = ["run", "exploratory/groups", "--seed", "4", "--mode", "isolated", "--duration-s", "60"]
    code = invoke([*words, "--runs", str(tmp_path)])

    folder = find_run(tmp_path, "exploratory/groups")
    verdict = load_verdict(folder)
    assert code == 0, verdict.reasons
    figures = next(result.figures for result in verdict.results if result.checker == "groups")
    assert set(figures) == {*GROUPS, "consumer-5"}
    operations = read_history(folder).operations
    for group, library in GROUPS.items():
        commits = [o for o in operations if o.f == "commit" and o.key == group and o.type is OperationType.OK]
        assert len(commits) >= 10
        assert {commit.value["client"] for commit in commits} == {library}
        assert figures[group]["generations"] >= 3
        assert figures[group]["delivered"] > 100
    late = [o for o in operations if o.f == "commit" and o.type is OperationType.FAIL]
    assert any("error 25" in str(o.error) or "error 22" in str(o.error) for o in late)
    last = [o for o in operations if o.f == "poll" and o.type is OperationType.OK and "assigned" in o.value]
    assert len(last[-1].value["assigned"]) == PARTITIONS
