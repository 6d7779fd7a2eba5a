"""States and transitions are read from a history: of partitions, the quorum, the cluster and operations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history import History, OperationType
from results.states import ALPHABET, cluster, operations, partitions, quorum, visited
from results.states.stored import STATES_FILE, visited_in
from results.states.tracks import Track, Visited, Word, at, beside, spans, walked
from results.states.trouble import TROUBLES
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS
from tests.mutations.recordings import journals, names, recorded


def of(story: AdminStory, actor: str) -> Visited:
    """What one kind of actor visited."""
    found = visited(story.history())
    return Visited(
        frozenset(one for one in found.states if one.split()[0] == actor),
        frozenset(one for one in found.transitions if one[0].split()[0] == actor),
    )


def test_a_partition_that_loses_its_leader() -> None:
    story = AdminStory()
    story.created()
    story.fault(10, 60, "kill", "n1")
    story.changed(20, leader=2, isr=[2, 3])
    story.changed(70, isr=[1, 2, 3])
    found = of(story, "partition")
    well, struck = "partition leader=well isr=full", "partition leader=down isr=full"
    away = "partition leader=well isr=some"
    assert found.states == {well, struck, away}
    assert found.transitions == {(well, "", struck), (struck, "elected", away), (away, "", well)}


def test_others_are_told_from_the_leader_and_the_gravest_trouble_counts() -> None:
    story = AdminStory()
    story.created()
    story.fault(10, 40, "pause", "n2")
    story.fault(20, 30, "wipe-disk", "n3")
    assert of(story, "partition").states == {
        "partition leader=well isr=full",
        "partition leader=well others=paused isr=full",
        "partition leader=well others=all-disk isr=full",
    }


def test_elections_are_told_apart() -> None:
    story = AdminStory()
    story.created()
    story.changed(10, leader=2)
    story.changed(20, leader=-1, isr=[], eligibleLeaderReplicas=[1, 2])
    story.changed(30, leader=1, isr=[1], eligibleLeaderReplicas=[2])
    story.changed(40, leader=-1, isr=[1], eligibleLeaderReplicas=[], lastKnownElr=[1])
    story.changed(50, leader=3, isr=[3], leaderRecoveryState=1)
    story.changed(60, leader=2, isr=[2])
    by = [(before, event) for before, event, _ in of(story, "partition").transitions if event]
    assert sorted(by) == [
        ("partition leader=nobody isr=empty elr=some", "elected-eligible"),
        ("partition leader=nobody isr=one", "elected-unclean"),
        ("partition leader=well isr=full", "elected"),
        ("partition leader=well isr=one unclean=yes", "elected-unclean"),
    ]


def test_a_reassignment_is_a_state_of_the_partition_and_of_the_administration() -> None:
    story = AdminStory()
    story.created((1, 2))
    story.reassign(10, 14, [1, 3])
    story.changed(12, replicas=[1, 2, 3], addingReplicas=[3], removingReplicas=[2])
    story.changed(20, replicas=[1, 3], isr=[1, 3], addingReplicas=[], removingReplicas=[])
    story.elect(16, 18)
    assert "partition leader=well isr=some moving=yes" in of(story, "partition").states
    assert of(story, "administration").states == {
        "administration cluster=well",
        "administration reassigning=asked cluster=well",
        "administration reassigning=moving cluster=well",
        "administration electing=yes reassigning=moving cluster=well",
    }
    assert (
        "cluster quorum-leader=well quorum-voters=well least-isr=some moving=yes"
        in of(story, "cluster").states
    )


def test_a_partition_that_moves_to_the_end_moves_on() -> None:
    story = AdminStory()
    story.created((1, 2))
    story.changed(12, replicas=[1, 2, 3], addingReplicas=[3])
    assert len(of(story, "administration").states) == 2


def claim(story: AdminStory, at_ms: float, leader: int, epoch: int, voters: tuple[int, ...]) -> None:
    told = {"leader_id": leader, "leader_epoch": epoch, "high_watermark": 0, "wall_ms": 0, "observers": []}
    seen = [[voter, None, 1, -1, -1] for voter in voters]
    value = {"began_ns": round((at_ms - 0.1) * MS), "answer": "leader", "voters": seen, **told}
    story.observe(at_ms, "quorum", value, node=f"n{leader}")


def file(story: AdminStory, at_ms: float, node: int, epoch: int, leader: int) -> None:
    told = {"began_ns": round((at_ms - 0.1) * MS), "leader_id": leader, "leader_epoch": epoch, "voted_id": -1}
    story.observe(at_ms, "quorum-state", told, node=f"n{node}")


def test_a_quorum_that_changes_its_leader_and_its_voters() -> None:
    story = AdminStory()
    for at_ms, leader, epoch, voters in (
        (1, 1, 1, (1, 2, 3)),
        (2, 1, 1, (1, 2, 3)),
        (8, 2, 2, (1, 2, 3)),
        (9, 1, 1, (1, 2, 3)),
        (10, 2, 2, (1, 2)),
    ):
        claim(story, at_ms, leader, epoch, voters)
    story.fault(1.5, 4, "partition", "n1")
    story.fault(1.7, 4, "partition", "n2")
    file(story, 7, 2, 2, -1)
    file(story, 7.5, 3, 2, 2)
    story.both(9.5, 11, "remove-voter", {"directory_id": None, "endpoints": [], "to": "n2"}, key=3)
    story.both(9.6, None, "add-voter", {"directory_id": None, "endpoints": [], "to": "n2"}, key=3)
    found = of(story, "quorum")
    assert found.states == {
        "quorum leader=well voters=well",
        "quorum leader=cut voters=struck",
        "quorum leader=cut voters=majority-struck",
        "quorum leader=nobody voters=well",
        "quorum leader=nobody voters=well epoch=without-leader",
        "quorum leader=well voters=well rival=yes",
        "quorum leader=well voters=well changing=removing rival=yes",
        "quorum leader=well voters=well changing=both rival=yes",
        "quorum leader=well voters=well changing=both size=fewer",
        "quorum leader=well voters=well changing=adding size=fewer",
        "quorum leader=nobody voters=well changing=adding size=fewer",
    }
    events = {event for _, event, _ in found.transitions}
    assert events == {"", "elected", "voters-changed"}


def test_an_operation_has_the_trouble_of_its_beginning_and_of_its_end() -> None:
    story = AdminStory()
    story.created()
    story.fault(10, 30, "pause", "n1")
    story.fault(20, 40, "stop", "n2")
    story.both(5, 25, "send", [[0, 1]], key=TOPIC, how="info")
    story.add(26, 99, OperationType.OK, "poll", key=TOPIC)  # nobody invoked it
    assert of(story, "send").transitions == {
        ("send cluster=well", "", "send ended=info cluster=paused+down"),
    }
    assert not of(story, "poll").states


def test_gambits_are_told_by_how_they_ended_and_other_doings_of_the_harness_not_at_all() -> None:
    story = AdminStory()
    story.created()
    story.both(5, 6, "gambit", {"kind": "all-down"}, key="g1", how="info")
    story.both(7, 8, "await", {}, key="g1")
    assert of(story, "gambit").states == {"gambit kind=all-down ended=info"}
    assert not of(story, "await").states


@pytest.mark.parametrize(
    ("f", "topic", "how"), [("commit", "__consumer_offsets", "fail"), ("txn", "__transaction_state", "ok")]
)
def test_an_operation_whose_coordinator_moves(f: str, topic: str, how: str) -> None:
    story = AdminStory()
    story.record(1, "TOPIC_RECORD", {"name": topic, "topicId": TOPIC_ID})
    told: dict[str, Any] = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **told})
    story.both(10, 30, f, {"client": "c", "mops": []}, key="a", how=how)
    story.both(11, 50, f, {"client": "c", "mops": []}, key="a", how=how)
    story.fault(15, 60, "kill", "n1")
    story.changed(20, leader=2, isr=[2, 3])
    story.changed(35, leader=-1)
    story.changed(40, leader=3)
    began = f"{f} coordinator=well"
    steps = {step for step in of(story, f).transitions if "coordinator" in step[0]}
    assert steps == {
        (began, "", f"{f} ended={how} coordinator=well moved=once"),
        (began, "", f"{f} ended={how} coordinator=well moved=again"),
    }
    actor = {"commit": "group-coordinator", "txn": "transaction-coordinator"}[f]
    assert f"{actor} leader=nobody isr=some" in of(story, actor).states
    assert any("coordinators=not-all" in state for state in of(story, "cluster").states)


def test_a_coordinated_operation_without_a_metadata_log_is_told_of_the_cluster_alone() -> None:
    story = AdminStory()
    story.both(10, 30, "txn", {"client": "c", "mops": []}, key="a")
    assert of(story, "txn").states == {"txn cluster=well", "txn ended=ok cluster=well"}


def test_nothing_is_visited_without_a_setup() -> None:
    assert visited(History("r", "", ())) == Visited(frozenset(), frozenset())


def test_a_fault_that_no_probe_proved_befalls_nobody_and_a_cut_without_targets_those_it_cuts_off() -> None:
    story = AdminStory()
    story.created()
    plan = {"kind": "partition", "spec": {}}
    done = plan | {"targets": [], "cut": [["n1", "n3"]], "probe": {}}
    story.add(10, "nemesis", OperationType.INVOKE, "inject", key="f1", value=plan)
    story.add(11, "nemesis", OperationType.INFO, "inject", key="f1", value=done)
    assert of(story, "partition").states == {"partition leader=well isr=full"}
    story.add(12, "nemesis", OperationType.INVOKE, "inject", key="f2", value=plan)
    story.add(13, "nemesis", OperationType.OK, "inject", key="f2", value=done)
    assert "partition leader=well others=cut isr=full" in of(story, "partition").states


@pytest.mark.parametrize("name", names())
def test_recorded_runs_have_states_and_the_same_ones_every_time(name: str) -> None:
    found = visited(recorded(name))
    again = visited(History(recorded(name).run, "", recorded(name).operations))
    assert found == again
    assert 10 < len(found.states) < 200
    assert {state for before, _, after in found.transitions for state in (before, after)} <= found.states
    assert all(event or before != after for before, event, after in found.transitions)


def test_states_are_kept_beside_the_run_and_read_again_where_words_have_changed(tmp_path: Path) -> None:
    for file_name, content in journals("chaos").items():
        (tmp_path / file_name).write_bytes(content)
    expected = visited(recorded("chaos"))
    assert visited_in(tmp_path) == expected
    for journal in tmp_path.glob("history*"):
        journal.unlink()
    assert visited_in(tmp_path) == expected
    kept = (tmp_path / STATES_FILE).read_text()
    (tmp_path / STATES_FILE).write_text(kept.replace(f'"alphabet": {ALPHABET}', '"alphabet": 0'))
    assert visited_in(tmp_path) is None  # the journals are gone


def test_what_can_not_be_read_has_no_states(tmp_path: Path) -> None:
    assert visited_in(tmp_path) is None
    (tmp_path / STATES_FILE).write_text(
        f'{{"alphabet": {ALPHABET}, "states": [], "transitions": [[0, "", 1]]}}'
    )
    assert visited_in(tmp_path) is None


steps = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1).map(sorted)


def as_track(told: list[tuple[int, int]]) -> Track:
    return Track(np.array([t for t, _ in told]), np.array([[v] for _, v in told]))


@given(steps, steps)
def test_tracks_beside_each_other_say_what_each_says(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    laid = beside(as_track(one), as_track(other))
    for time_ns in range(10):
        rows = [place[laid.time_ns <= time_ns] for place in laid.places]
        for told, row in zip((one, other), rows, strict=True):
            if len(row):
                assert told[row[-1]] == [step for step in told if step[0] <= time_ns][-1]
                (found,) = at(as_track(told), np.array([time_ns]))
                assert found == told[row[-1]][1]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9))))
def test_spans_count_what_is_open(found: list[tuple[int, int, int]]) -> None:
    ordered = [(column, min(a, b), max(a, b)) for column, a, b in found]
    counted = spans(ordered, 3)
    for time_ns in range(10):
        (row,) = at(counted, np.array([time_ns]))
        assert row.tolist() == [
            sum(c == column and a <= time_ns < b for c, a, b in ordered) for column in range(3)
        ]


def test_no_rows_are_no_states() -> None:
    nothing = walked("a", (Word("w", ("x",)),), np.zeros((0, 1), np.int64), ("",), np.zeros(0, np.int64))
    assert nothing == Visited(frozenset(), frozenset())


def test_every_word_is_documented() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "hunting.md").read_text()
    words = [*partitions.WORDS, *quorum.WORDS, *cluster.WORDS, *operations.ADMIN_WORDS]
    words += [*operations.BEGUN, *operations.ENDED, *operations.COORDINATED_END]
    told = {word.name for word in words} | set(TROUBLES) | {*partitions.ISR, *quorum.WORDS[1].values}
    told |= {*partitions.EVENTS, *quorum.EVENTS, *operations.OUTCOMES, *operations.MOVED} - {""}
    assert not [one for one in told if f"`{one}`" not in page and f"`{one}=" not in page]
    assert f"version {ALPHABET} of an alphabet" in page
