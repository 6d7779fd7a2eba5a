"""What controllers do before and after they vote: they ask others first, and write their votes down."""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum
from tests.checkers.kraft.quorum.test_quorum_votes import vote, with_log_entries

Story = Callable[..., History]
RULES = {"candidate-without-majority", "vote-not-kept", "pre-vote-of-follower"}
LED = "1 c1 leads 1"


def found(history: History) -> list[str]:
    return [f"{each.id}: {each.subject}" for each in check_quorum(history).anomalies if each.id in RULES]


class TestAsked:
    @pytest.mark.parametrize(
        ("voters", "granting", "asked"),
        [
            ([1, 2, 3], [1], False),
            ([1, 2, 3], [1, 3], True),
            ([1, 2, 3, 4], [1, 4], False),
            ([1], [1], True),
            (None, None, True),
            ([1, 2, 3], None, True),
        ],
    )
    def test_by_the_candidates_own_line(
        self, story: Story, voters: list[int] | None, granting: list[int] | None, *, asked: bool
    ) -> None:
        own = vote("c1", 2, 1, line=8, pre_voters=voters, pre_granting=granting)
        history = with_log_entries(story(LED, setup={"kafka_version": "4.3.1"}), own)
        assert found(history) == ([] if asked else ["candidate-without-majority: c1, epoch 2"])

    def test_the_line_is_the_proof(self, story: Story) -> None:
        own = vote("c1", 2, 1, line=8, pre_voters=[1, 2, 3], pre_granting=[1])
        history = with_log_entries(story(LED, setup={"kafka_version": "4.3.1"}), own)
        (anomaly,) = [each for each in check_quorum(history).anomalies if each.id in RULES]
        assert anomaly.summary == (
            "c1 became a candidate in epoch 2 with the pre-votes of only 1 of 3 voters."
        )
        assert anomaly.explanation == ("Line 8 of its log: pre-votes of [1] among [1, 2, 3].",)

    def test_a_version_that_knows_no_pre_votes_asks_nobody(self, story: Story) -> None:
        own = vote("c1", 2, 1, pre_voters=[1, 2, 3], pre_granting=[1])
        assert found(with_log_entries(story(LED, setup={"kafka_version": "3.9.0"}), own)) == []

    @pytest.mark.parametrize(("upgraded_s", "judged"), [(0.1, True), (200, False)])
    def test_once_all_versions_know_them_others_must_be_asked(
        self, story: Story, upgraded_s: float, *, judged: bool
    ) -> None:
        setup = {"kafka_version": "4.4.0", "node_versions": {"c2": "3.9.0"}, "later_versions": ["4.4.0"]}
        text = f"{LED}\n{upgraded_s} f1 upgrade c2 version=4.4.0 ok\n{upgraded_s + 1} f1 heal ok"
        own = vote("c1", 2, 1, at=30, pre_voters=[1, 2, 3], pre_granting=[1])
        history = with_log_entries(story(text, setup=setup), own)
        assert found(history) == (["candidate-without-majority: c1, epoch 2"] if judged else [])


class TestFollowers:
    @pytest.mark.parametrize(
        ("fields", "refuses"),
        [
            ({"following_ms": 4_000, "fetch_timeout_ms": 2_000}, True),
            ({"following_ms": 3_999, "fetch_timeout_ms": 2_000}, False),
            ({"following_ms": 4_000, "fetch_timeout_ms": 2_001}, False),
            ({"following_ms": 4_000}, False),
            ({}, False),
        ],
    )
    def test_by_the_time_since_it_follows(
        self, story: Story, fields: dict[str, int], *, refuses: bool
    ) -> None:
        granted = vote("c2", 2, 3, at=9, line=8, pre_vote=True, **fields)
        assert found(with_log_entries(story(LED), granted)) == (
            ["pre-vote-of-follower: c2, epoch 2"] if refuses else []
        )

    @pytest.mark.parametrize(
        ("fault", "certain"),
        [
            ("14 f1 pause c2 ok\n15.5 f1 heal ok\n", False),
            ("14 f1 pause c2 ok\n14.5 f1 heal ok\n", True),
            ("14 f1 pause c2 ok\n", False),
            ("14 f1 pause c1 ok\n15.5 f1 heal ok\n", True),
            ("3 f1 pause c2 ok\n8 f1 heal ok\n", True),
        ],
    )
    def test_time_in_which_it_is_frozen_does_not_count(
        self, story: Story, fault: str, *, certain: bool
    ) -> None:
        granted = vote("c2", 2, 3, at=20, pre_vote=True, following_ms=5_000, fetch_timeout_ms=2_000)
        history = with_log_entries(story(f"{LED}\n{fault}"), granted)
        assert bool(found(history)) is certain

    def test_the_line_is_reported(self, story: Story) -> None:
        granted = vote("c2", 2, 3, at=9, line=8, pre_vote=True, following_ms=5_123, fetch_timeout_ms=2_000)
        (anomaly,) = (
            each for each in check_quorum(with_log_entries(story(LED), granted)).anomalies if each.id in RULES
        )
        assert anomaly.summary == (
            "c2 granted its pre-vote to 3 in epoch 2, although it had followed a leader for 5.1 s."
        )


class TestKept:
    @pytest.mark.parametrize(
        ("state", "kept"),
        [
            ("file 1", False),
            ("file 2", False),
            ("file 2 vote=c3", True),
            ("file 2 leader=c3", True),
            ("file 3", True),
        ],
    )
    def test_by_the_file_that_is_read_next(self, story: Story, state: str, *, kept: bool) -> None:
        text = f"1 c1 leads 1\n9 c2 {state}\n"
        history = with_log_entries(story(text), vote("c2", 2, 3, at=4))
        assert found(history) == ([] if kept else ["vote-not-kept: c2, epoch 2"])

    @pytest.mark.parametrize("fields", [{"pre_vote": True}, {"granted": False}, {"at": 8}])
    def test_what_binds_nobody_or_may_come_later(self, story: Story, fields: dict[str, Any]) -> None:
        history = story("1 c1 leads 1\n9 c2 file 1\n")
        assert found(with_log_entries(history, vote("c2", 2, 3, **({"at": 4} | fields)))) == []

    def test_each_node_is_reported_once(self, story: Story) -> None:
        history = story("1 c1 leads 1\n9 c2 file 1\n9 c3 file 1\n20 c2 file 1\n")
        votes = [vote("c2", 2, 3, at=4), vote("c2", 3, 3, at=12), vote("c3", 2, 3, at=4)]
        assert found(with_log_entries(history, *votes)) == [
            "vote-not-kept: c2, epoch 2",
            "vote-not-kept: c3, epoch 2",
        ]

    @pytest.mark.parametrize(
        ("fault", "kept"), [("wipe-disk c2", True), ("wipe-disk c1", False), ("kill c2", False)]
    )
    def test_a_disk_that_was_hit_may_have_lost_it(self, story: Story, fault: str, *, kept: bool) -> None:
        text = f"1 c1 leads 1\n5 f1 {fault} ok\n6 f1 heal ok\n9 c2 file 1\n"
        assert bool(found(with_log_entries(story(text), vote("c2", 2, 3, at=4)))) is not kept
