"""Disks that were wiped or lost power: what that licenses, what it only explains, and what not even that."""

from typing import Any

import pytest

from checkers.columns.tables import NEVER, PartitionName
from checkers.licences import licences_of
from checkers.licences.permits import Permit
from checkers.logs.log import check_log
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.log_histories import MS

HERE = PartitionName(TOPIC, 0)
WITHOUT_ELR: dict[str, Any] = {"features": {"eligible.leader.replicas.version": 0}}


def topic(min_isr: int) -> dict[str, Any]:
    return {"topics": [{"name": TOPIC, "partitions": 1, "config": {"min.insync.replicas": str(min_isr)}}]}


def begun(**setup: Any) -> AdminStory:
    """One record, acknowledged and then lost; the cluster is whole before."""
    story = AdminStory(**setup)
    story.view(5, 3, [1, 2, 3])
    story.send(10, 100, 0)
    story.final(end=0)
    return story


def judged(story: AdminStory) -> CheckerResult:
    return check_log(story.history(metadata_log=False))


def permits(story: AdminStory) -> tuple[Permit, ...]:
    return licences_of(story.history(metadata_log=False)).of(HERE)


def ids(story: AdminStory) -> dict[str, bool]:
    return {anomaly.id: anomaly.illegal for anomaly in judged(story).anomalies}


class TestWipes:
    def test_one_is_no_licence_where_two_had_to_be_in_sync(self) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        assert ids(story) == {"lost-write": True}

    @pytest.mark.parametrize(
        ("at_ms", "value", "nodes", "licensed"),
        [
            (8, "1", 1, True),
            (8, "3", 1, False),
            (35, "1", 1, False),
            (8, None, 1, True),
            (8, None, 2, False),
        ],
        ids=["lowered", "raised", "lowered later", "as nodes have it: one", "as nodes have it: two"],
    )
    def test_the_lowest_limit_until_then_counts(
        self, at_ms: float, value: str | None, nodes: int, *, licensed: bool
    ) -> None:
        """What was acknowledged under a lower limit may have been on fewer replicas."""
        story = begun(config={"min.insync.replicas": nodes})
        asked = {"config": "min.insync.replicas", "value": value, "to": "n2"}
        story.both(at_ms, at_ms + 1, "alter-topic", asked, key=TOPIC)
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        assert ids(story) == {"lost-write": not licensed}

    def test_two_are(self) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.fault(40, 50, "wipe-disk", "n2", scope="keep-meta")
        result = judged(story)
        assert result.validity is Validity.VALID
        assert result.anomalies[0].licence == (
            "wiped disks: the disk of broker 1 (wipe-disk, fault f1) and the disk of broker 2 "
            "(wipe-disk, fault f2) lost its data, of 3 copies of log-0/0, 2 in sync at least; no "
            "other copy had to have the record"
        )

    @pytest.mark.parametrize(
        ("spec", "licensed"),
        [
            ({"scope": "topic", "topic": None}, True),
            ({"scope": "topic", "topic": TOPIC}, True),
            ({"scope": "topic", "topic": "other"}, False),
        ],
    )
    def test_a_wipe_of_some_topic_counts_for_that_one(self, spec: dict[str, Any], *, licensed: bool) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", "n2", **spec)
        assert ids(story) == {"lost-write": not licensed}

    @pytest.mark.parametrize(
        ("removed", "licensed"),
        [
            (["data2/log-0-0", "data2/meta.properties"], True),
            (["data2/log-0-1"], False),
            (["data2/log-0"], False),
            ([], False),
            (None, True),
        ],
    )
    def test_of_one_log_directory_what_was_removed_counts(
        self, removed: list[str] | None, *, licensed: bool
    ) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", "n2", removed=removed, scope="all", log_dir=2)
        assert ids(story) == {"lost-write": not licensed}

    def test_with_one_in_sync_each_is(self) -> None:
        story = begun(**topic(1))
        story.fault(20, 30, "wipe-disk", "n3", scope="all")
        assert ids(story) == {"lost-write": False}

    def test_of_the_only_replica_each_is(self) -> None:
        story = AdminStory()
        story.view(5, 3, [2], replicas=[2])
        story.send(10, 100, 0)
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.final(end=0)
        assert ids(story) == {"lost-write": True}
        story.fault(21, 31, "wipe-disk", "n2", scope="all")
        assert ids(story) == {"lost-write": False}

    def test_a_replica_that_was_in_sync_again_counts_no_more(self) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.view(25, 3, [2, 3], nodes=[2])
        story.view(35, 3, [1, 2, 3], nodes=[2])
        story.fault(40, 50, "wipe-disk", "n2", scope="all")
        assert ids(story) == {"lost-write": True}

    def test_nor_does_one_in_sync_in_a_newer_epoch(self) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.view(35, 5, [2, 1], nodes=[3])
        story.fault(40, 50, "wipe-disk", "n2", scope="all")
        assert ids(story) == {"lost-write": True}

    @pytest.mark.parametrize("node", [1, 2])
    def test_an_old_view_and_its_own_prove_nothing(self, node: int) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        if node == 1:
            story.view(25, 3, [2, 3], nodes=[1])
        story.view(35, 3, [1, 2, 3], nodes=[node])
        story.fault(40, 50, "wipe-disk", "n2", scope="all")
        assert ids(story) == {"lost-write": False}

    def test_one_that_was_never_healed_is_never_in_sync_again(self) -> None:
        story = begun()
        story.fault(20, None, "wipe-disk", "n1", scope="all")
        story.fault(40, 50, "wipe-disk", "n2", scope="all")
        (permit,) = permits(story)
        assert (permit.event.from_ns, permit.event.to_ns) == (40 * MS, NEVER)

    def test_the_licence_ends_when_enough_are_in_sync_again(self) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", "n2", scope="all")
        story.view(25, 4, [3], nodes=[3])
        story.view(60, 4, [3, 2], nodes=[3])
        story.view(90, 4, [3, 2, 1], nodes=[3])
        assert {permit.event.to_ns for permit in permits(story)} == {60 * MS}

    def test_two_wipes_of_one_broker_are_one(self) -> None:
        story = begun()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.fault(40, 50, "wipe-disk", "n1", scope="all")
        assert permits(story) == ()

    def test_a_node_that_is_no_broker_of_it_does_not_count(self) -> None:
        story = begun(nodes=[{"name": "n1", "id": 1}, {"name": "n2", "id": 2}, {"name": "c7", "id": 7}])
        story.fault(20, 30, "wipe-disk", "c7", "n1", "stranger", scope="all")
        assert permits(story) == ()


class TestMetadataLog:
    """Where it shows who was in sync or eligible, that decides, and not what brokers believed."""

    @pytest.mark.parametrize(
        ("changes", "licensed"),
        [
            ([], False),
            ([(15, {"isr": [1, 2]})], True),
            ([(15, {"isr": [1, 2]}), (18, {"isr": [1, 2, 3]})], False),
            ([(15, {"isr": [1, 2]}), (35, {"isr": [2]})], True),
            ([(15, {"isr": [2], "eligibleLeaderReplicas": [1]})], True),
            ([(15, {"isr": [2], "eligibleLeaderReplicas": [3]})], False),
            ([(35, {"isr": [1, 2]})], False),
            ([(22, {"isr": [1, 2]})], True),
        ],
    )
    def test_wipes_that_spared_one_in_sync_are_no_licence(
        self, changes: list[tuple[float, dict[str, Any]]], *, licensed: bool
    ) -> None:
        story = begun()
        story.created()
        for at_ms, fields in changes:
            story.changed(at_ms, **fields)
        story.fault(20, 30, "wipe-disk", "n1", "n2", scope="all")
        assert bool(licences_of(story.history()).of(HERE)) is licensed

    def test_what_a_broker_reported_long_ago_does_not_make_another_the_last_one(self) -> None:
        story = begun(**WITHOUT_ELR)
        story.created()
        story.changed(8, isr=[1])
        story.view(9, 3, [1], nodes=[2])  # and then it was gone
        story.changed(12, isr=[1, 3])
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        assert permits(story)
        assert licences_of(story.history()).of(HERE) == ()

    @pytest.mark.parametrize(("isr", "licensed"), [([1, 2], True), ([1, 2, 3], False)])
    def test_power_that_one_in_sync_kept_is_no_licence(self, isr: list[int], *, licensed: bool) -> None:
        story = begun()
        story.created()
        story.changed(15, isr=isr)
        story.fault(20, 30, "power-loss", "n1", "n2")
        assert bool(licences_of(story.history()).of(HERE)) is licensed

    @pytest.mark.parametrize(("back_ms", "licensed"), [(35, False), (28, True)])
    def test_one_in_sync_again_after_the_heal_counts_no_more(self, back_ms: float, *, licensed: bool) -> None:
        story = begun()
        story.created()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.changed(22, isr=[2, 3])
        story.changed(back_ms, isr=[2, 3, 1])
        story.changed(38, isr=[1, 2])
        story.fault(40, 50, "wipe-disk", "n2", scope="all")
        assert bool(licences_of(story.history()).of(HERE)) is licensed

    def test_a_broker_that_lags_behind_does_not_tell_that_it_is_in_sync_again(self) -> None:
        story = begun()
        story.created()
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.changed(22, isr=[2, 3])
        story.view(25, 3, [2, 3], nodes=[3])  # as it was long before
        story.view(35, 3, [1, 2, 3], nodes=[3])
        story.changed(38, isr=[2])
        story.fault(40, 50, "wipe-disk", "n2", scope="all")
        assert licences_of(story.history()).of(HERE)
        assert permits(story) == ()

    def test_a_leader_has_all_that_is_left(self) -> None:
        story = begun()
        story.created()
        story.changed(15, isr=[1])
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.changed(25, leader=-1)
        story.changed(35, leader=1)
        story.changed(37, isr=[1, 2])
        story.fault(40, 50, "wipe-disk", "n2", scope="all")
        assert licences_of(story.history()).of(HERE) == ()

    @pytest.mark.parametrize(("replicas", "licensed"), [([1, 2], True), ([2, 3], False)])
    def test_a_broker_without_a_copy_does_not_count(self, replicas: list[int], *, licensed: bool) -> None:
        story = begun()
        story.created(replicas)
        story.changed(15, isr=[2])
        story.fault(20, 30, "wipe-disk", "n1", "n2", scope="all")
        assert bool(licences_of(story.history()).of(HERE)) is licensed
        assert permits(story)

    def test_where_there_was_one_copy_one_is_enough(self) -> None:
        story = begun()
        story.created([2])
        story.changed(15, replicas=[2, 1, 3], addingReplicas=[1, 3])
        story.fault(20, 30, "wipe-disk", "n2", scope="all")
        assert licences_of(story.history()).of(HERE)
        assert permits(story) == ()

    def test_a_log_that_ends_before_leaves_it_to_brokers(self) -> None:
        story = begun()
        story.created()
        story.changed(15, isr=[1, 2, 3])
        story.fault(20, 30, "wipe-disk", "n1", "n2", scope="all")
        story.changed(60, isr=[3])
        assert licences_of(story.history()).of(HERE) == ()
        assert licences_of(story.history(cut=2)).of(HERE)
        story.view(35, 5, [3, 2, 1], nodes=[3])
        story.fault(40, 50, "wipe-disk", "n3", scope="all")
        assert [p.event.from_ns for p in licences_of(story.history(cut=2)).of(HERE)] == [20 * MS] * 2


class TestLastReplicaStanding:
    def lost(self, level: int, *, wiped: str = "n1", isr: tuple[int, ...] = (1,)) -> AdminStory:
        story = begun(features={"eligible.leader.replicas.version": level})
        story.view(15, 4, isr)
        story.fault(20, 30, "wipe-disk", wiped, scope="topic", topic=None)
        return story

    def test_without_elr_it_is_a_known_gap_and_never_a_pass(self) -> None:
        result = judged(self.lost(0))
        assert result.validity is Validity.INVALID
        assert result.counts == {"known-gap": 1}
        (gap,) = result.anomalies
        assert gap.illegal
        assert gap.licence is None
        assert "explained, but not permitted, by last replica standing" in gap.explanation[-1]
        assert "the disk of broker 1 (wipe-disk, fault f1)" in gap.explanation[-1]

    def test_with_elr_it_is_a_lost_write(self) -> None:
        assert ids(self.lost(1)) == {"lost-write": True}

    def test_so_it_is_where_another_was_in_sync(self) -> None:
        assert ids(self.lost(0, isr=(1, 2))) == {"lost-write": True}
        assert ids(self.lost(0, wiped="n2")) == {"lost-write": True}

    def test_it_may_become_the_last_one_while_it_is_down(self) -> None:
        story = begun(**WITHOUT_ELR)
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        story.view(25, 4, [1])
        assert ids(story) == {"known-gap": True}

    def test_what_was_lost_later_is_not_explained(self) -> None:
        story = self.lost(0)
        story.view(40, 6, [1], nodes=[2])
        story.send(50, 101, 1)
        assert ids(story) == {"known-gap": True, "lost-write": True}

    def test_where_any_wipe_is_licensed_there_is_no_gap(self) -> None:
        story = begun(**WITHOUT_ELR, **topic(1))
        story.view(15, 4, [1])
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        assert ids(story) == {"lost-write": False}

    def test_other_consequences_of_it_are_legal(self) -> None:
        story = self.lost(0)
        story.send(60, 200, 0)
        found = ids(story)
        assert found == {"known-gap": True, "inconsistent-offsets": False}


class TestPowerLoss:
    def test_of_all_in_sync_the_tail_may_go(self) -> None:
        story = begun()
        story.send(11, 101, 1)
        story.view(15, 3, [1, 2])
        story.fault(20, 30, "power-loss", "n1", "n2")
        story.epochs((3, 0), (4, 1))
        result = judged(story)
        assert {str(a.subject): a.illegal for a in result.anomalies} == {
            "log-0/0@0": True,
            "log-0/0@1": False,
        }
        licensed = next(anomaly for anomaly in result.anomalies if not anomaly.illegal)
        assert str(licensed.licence).startswith("power loss: the disk of broker 1 (power-loss, fault f1) and")
        assert "leader epoch 4 begins at offset 1" in str(licensed.licence)

    def test_without_the_bound_the_verdict_is_unknown(self) -> None:
        story = begun()
        story.fault(20, 30, "dead-disk", "n1", "n2", "n3")
        assert judged(story).validity is Validity.UNKNOWN

    def test_one_that_kept_its_power_keeps_everything(self) -> None:
        story = begun()
        story.fault(20, 30, "power-loss", "n1", "n2")
        story.epochs((3, 0), (4, 0))
        assert ids(story) == {"lost-write": True}

    def test_one_after_the_other_without_being_in_sync_between(self) -> None:
        story = begun()
        story.fault(20, 60, "power-loss", "n1", "n2")
        story.view(30, 3, [3])
        story.epochs((3, 0), (4, 0))
        assert permits(story) == ()
        story.fault(40, 50, "power-loss", "n3")
        (permit,) = permits(story)
        assert permit.event.from_ns == 40 * MS

    @pytest.mark.parametrize("wiped_ms", [19, 21])
    def test_a_wipe_together_with_it_counts(self, wiped_ms: float) -> None:
        story = begun()
        story.view(15, 3, [1, 2])
        story.fault(wiped_ms, 30, "wipe-disk", "n1", scope="all")
        story.fault(20, 30, "power-loss", "n2")
        story.epochs((3, 0), (4, 0))
        assert ids(story) == {"lost-write": False}


def test_other_faults_are_no_strikes() -> None:
    story = begun()
    story.fault(20, 30, "kill", "n1", "n2", "n3")
    assert permits(story) == ()


def test_a_partition_that_nobody_reported_is_not_known_to_be_hit() -> None:
    story = AdminStory()
    story.fault(20, 30, "wipe-disk", "n1", "n2", "n3", scope="all")
    assert permits(story) == ()
