"""Metadata that a majority of wiped controllers may have cost."""

from typing import Any

import pytest

from checkers.history.operations import OperationType
from checkers.kraft.metadata import check_metadata
from checkers.verdict.verdict import Anomaly
from tests.checkers.admin_histories import AdminStory
from tests.checkers.conftest import WALL_MS


def lost(**setup: Any) -> AdminStory:
    """A topic whose creation was acknowledged, and that is in no list in the end."""
    story = AdminStory(**{"quorum": "static"} | setup)
    asked = {"partitions": 1, "replication_factor": 1}
    story.both(10, 11, "create-topic", asked, answer=asked | {"topic_id": "id1"}, key="meta-0")
    story.add(700, "runner", OperationType.OK, "phase", key="final-read")
    story.both(710, 711, "list-topics", None, answer=[], key="n1")
    return story


def observe_leader(
    story: AdminStory,
    at_ms: float,
    end: int,
    *,
    committed: int = 9,
    fetched_ms: float | None = None,
    more: tuple[int, ...] = (3,),
) -> None:
    """Controller 2 fetched then, by default just now, and has all below an offset; there are more voters."""
    began, wall_ms = {"began_ns": round(at_ms * 1e6)}, round(WALL_MS + at_ms)
    last_fetch_ms = wall_ms if fetched_ms is None else round(WALL_MS + fetched_ms)
    voters = [[1, None, 9, -1, -1], [2, None, end, last_fetch_ms, -1]]
    voters += [[voter, None, 0, -1, -1] for voter in more]
    leads = {"answer": "leader", "leader_id": 1, "leader_epoch": 1, "high_watermark": committed}
    story.observe(at_ms + 0.1, "quorum", began | leads | {"voters": voters, "wall_ms": wall_ms})
    story.observe(at_ms + 0.1, "quorum", began | {"answer": "not-leader"})


def anomaly(story: AdminStory) -> Anomaly:
    (found,) = check_metadata(story.history(metadata_log=False)).anomalies
    assert found.id == "lost-topic"
    return found


@pytest.mark.parametrize("scope", ["all", "keep-meta"])
def test_two_of_three_wiped_disks_license_it(scope: str) -> None:
    story = lost()
    story.fault(20, 30, "wipe-disk", "n2", scope=scope)
    assert anomaly(story).illegal
    story.fault(40, 50, "wipe-disk", "n3", scope=scope)
    found = anomaly(story)
    assert not found.illegal
    assert found.licence == "wiped disks: n2, n3, a majority of the voters, had empty logs"


@pytest.mark.parametrize(("kind", "spec"), [("kill", {}), ("wipe-disk", {"scope": "topic", "topic": None})])
def test_other_faults_and_scopes_license_nothing(kind: str, spec: dict[str, Any]) -> None:
    story = lost()
    story.fault(20, 30, kind, "n2", "n3", **spec)
    assert anomaly(story).illegal


@pytest.mark.parametrize(
    ("at_ms", "end", "committed", "illegal"),
    [(35, 9, 9, True), (35, 8, 9, False), (25, 9, 9, False), (45, 9, 9, False), (35, 0, 0, False)],
)
def test_one_that_has_caught_up_is_not_empty(
    at_ms: float, end: int, committed: int, *, illegal: bool
) -> None:
    story = lost()
    story.fault(20, 30, "wipe-disk", "n2", scope="all")
    observe_leader(story, at_ms, end, committed=committed)
    story.fault(40, 50, "wipe-disk", "n3", scope="all")
    assert anomaly(story).illegal is illegal


def test_where_it_ended_before_the_wipe_the_leader_may_remember() -> None:
    story = lost()
    story.fault(20, 30, "wipe-disk", "n2", scope="all")
    observe_leader(story, 35, 9, fetched_ms=15)
    story.fault(40, 50, "wipe-disk", "n3", scope="all")
    assert not anomaly(story).illegal


def test_what_was_lost_before_is_not_licensed() -> None:
    story = lost()
    story.fault(750, 760, "wipe-disk", "n2", "n3", scope="all")
    assert anomaly(story).illegal


def test_a_phantom_is_never_licensed() -> None:
    story = AdminStory(quorum="static")
    story.fault(20, 30, "wipe-disk", "n2", "n3", scope="all")
    story.both(710, 711, "list-topics", None, answer=[["meta-9", "id9"]], key="n1")
    (found,) = check_metadata(story.history(metadata_log=False)).anomalies
    assert (found.id, found.illegal) == ("phantom-topic", True)


DYNAMIC = {"quorum": "dynamic", "features": {"kraft.version": 1}}


@pytest.mark.parametrize("setup", [{}, DYNAMIC])
def test_a_majority_is_one_of_the_voters_that_were_reported(setup: dict[str, Any]) -> None:
    story = lost(**setup)
    observe_leader(story, 15, 9, more=())
    story.fault(20, 30, "wipe-disk", "n2", "n3", scope="all")
    assert anomaly(story).illegal
    story.fault(40, 50, "wipe-disk", "n1", scope="all")
    assert anomaly(story).licence == "wiped disks: n1, n2, a majority of the voters, had empty logs"


def test_of_more_voters_it_takes_more() -> None:
    story = lost(**DYNAMIC)
    observe_leader(story, 15, 9, more=(3, 4, 5))
    story.fault(20, 30, "wipe-disk", "n2", "n3", scope="all")
    assert anomaly(story).illegal
    story.fault(40, 50, "wipe-disk", "n1", scope="all")
    assert not anomaly(story).illegal


def test_voters_that_were_reported_later_do_not_count() -> None:
    story = lost(**DYNAMIC)
    story.fault(20, 30, "wipe-disk", "n2", "n3", scope="all")
    observe_leader(story, 35, 0, more=(3, 4, 5))
    assert not anomaly(story).illegal
