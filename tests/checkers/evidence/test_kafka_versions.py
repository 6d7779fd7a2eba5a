"""The versions that nodes may have run at a time, in runs with upgrades; times in milliseconds."""

from typing import Any

import msgspec
import pytest

from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.kafka_versions import kafka_versions
from checkers.history.operations import OperationType
from tests.checkers.admin_histories import AdminStory
from tests.checkers.log_histories import MS

OLD, MIDDLE, NEW = (3, 9, 0), (4, 1, 1), (4, 4, 0)
INJECT: dict[str, Any] = {"kind": "upgrade", "spec": {"version": None}}


def rolled(**setup: Any) -> AdminStory:
    """All nodes begin with 3.9.0; n1 is upgraded at 100 ms, and down from 100.5 to 200 ms."""
    first = dict.fromkeys(("n1", "n2", "n3"), "3.9.0")
    given = {"kafka_version": "4.4.0", "node_versions": first, "later_versions": ["4.4.0"]}
    story = AdminStory(**given | setup)
    story.fault(100, 200, "upgrade", "n1", version=None)
    return story


def between(story: AdminStory, from_ms: float, to_ms: float, *nodes: str) -> tuple[Any, Any]:
    """The oldest and the newest version of nodes, or of all."""
    versions = kafka_versions(story.history(metadata_log=False))
    times = round(from_ms * MS), round(to_ms * MS), nodes or None
    return versions.oldest(*times), versions.newest(*times)


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "expected"),
    [
        (0, 99, (OLD, OLD)),
        (0, 100, (OLD, NEW)),
        (100.5, 300, (OLD, NEW)),
        (100.6, 300, (NEW, NEW)),
        (0, 300, (OLD, NEW)),
    ],
    ids=["before", "while it may be stopping", "confirmed down at its beginning", "after", "across"],
)
def test_a_node_has_one_version_before_its_upgrade_and_another_one_after(
    from_ms: float, to_ms: float, expected: tuple[Any, Any]
) -> None:
    assert between(rolled(), from_ms, to_ms, "n1") == expected


def test_the_oldest_node_decides_until_the_last_one_is_upgraded() -> None:
    story = rolled()
    story.fault(300, 400, "upgrade", "n2", version="4.1.1")
    assert between(story, 500, 600) == (OLD, NEW)
    assert between(story, 500, 600, "n1", "n2") == (MIDDLE, NEW)
    story.fault(700, 800, "upgrade", "n3", version="4.4.0")
    assert between(story, 900, 950) == (MIDDLE, NEW)


def test_a_node_that_goes_back_has_the_old_version_again() -> None:
    story = rolled()
    story.fault(500, 600, "upgrade", "n1", version="3.9.0")
    assert between(story, 300, 400, "n1") == (NEW, NEW)
    assert between(story, 700, 800, "n1") == (OLD, OLD)
    assert between(story, 300, 800, "n1") == (OLD, NEW)


@pytest.mark.parametrize(
    "how", [OperationType.INFO, None], ids=["without a probe", "the harness ended meanwhile"]
)
def test_after_an_upgrade_without_proof_a_node_may_have_either_version(how: OperationType | None) -> None:
    story = rolled()
    story.add(300, "nemesis", OperationType.INVOKE, "inject", key="f2", value=INJECT)
    if how is not None:
        story.add(301, "nemesis", how, "inject", key="f2", value=INJECT | {"targets": ["n2"]})
    assert between(story, 400, 500, "n2") == (OLD, NEW)
    assert between(story, 200, 250, "n2") == (OLD, OLD)
    # If the target was not recorded, it may have been any node; n1 has the new version anyway.
    assert between(story, 400, 500, "n3") == ((OLD, OLD) if how else (OLD, NEW))
    story.fault(600, 700, "upgrade", "n2", version=None)
    assert between(story, 800, 900, "n2") == (NEW, NEW)


def test_an_upgrade_that_was_refused_changes_nothing() -> None:
    story = rolled()
    story.add(300, "nemesis", OperationType.INVOKE, "inject", key="f2", value=INJECT)
    story.add(301, "nemesis", OperationType.FAIL, "inject", key="f2", value=INJECT, error="dead")
    assert between(story, 400, 500, "n2") == (OLD, OLD)


def test_a_version_that_no_recorded_upgrade_brought_may_have_run_at_any_time() -> None:
    planned = ["4.1.1", "4.4.0"]
    assert between(rolled(later_versions=planned), 400, 500, "n1") == (MIDDLE, NEW)
    assert between(rolled(later_versions=planned), 0, 50, "n1") == (OLD, MIDDLE)
    # Of a history without faults nothing is known but the versions that the run may have.
    story = AdminStory(kafka_version="3.9.0", later_versions=["4.4.0"])
    assert between(story, 0, 1) == (OLD, NEW)


@pytest.mark.parametrize(("lost", "expected"), [("nemesis", (OLD, NEW)), ("admin", (OLD, OLD))])
def test_without_records_of_faults_each_version_may_have_run_at_any_time(
    lost: str, expected: tuple[Any, Any]
) -> None:
    whole = rolled().history(metadata_log=False)
    versions = kafka_versions(msgspec.structs.replace(whole, damage=("gone",), lacking=frozenset({lost})))
    assert (versions.oldest(0, 1, ["n2"]), versions.newest(0, 1, ["n2"])) == expected


@pytest.mark.parametrize("nodes", [(), ("n1",), ("n9",), ("n1", "n9")])
def test_of_nodes_that_the_setup_does_not_have_any_version_is_possible(nodes: tuple[str, ...]) -> None:
    story = rolled(nodes=[], node_versions={"n1": "3.9.0"})
    assert between(story, 400, 500, *nodes) == (OLD, NEW)
    known = between(rolled(), 400, 500, *nodes)
    assert known == ((NEW, NEW) if nodes == ("n1",) else (OLD, NEW))


def test_without_a_setup_no_version_is_known() -> None:
    versions = kafka_versions(AdminStory(kafka_version="", nodes=[]).history(metadata_log=False))
    assert versions.oldest(0, 1) == versions.newest(0, 1) == ()
    assert versions.times_of(OLD) == []


def test_the_times_at_which_a_node_may_have_at_least_a_version() -> None:
    versions = kafka_versions(rolled().history(metadata_log=False))
    assert versions.times_of(MIDDLE, ["n1"]) == [(100 * MS, FOREVER_NS)]
    assert versions.times_of(MIDDLE, ["n2"]) == []
    assert versions.times_of(MIDDLE) == [(100 * MS, FOREVER_NS)]
    assert versions.times_of(MIDDLE, ["n9"]) == [(0, FOREVER_NS)]
