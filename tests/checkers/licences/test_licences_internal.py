"""Offsets that groups committed may be gone where the topic that keeps them may have lost records."""

from typing import Any

import pytest

from checkers.columns.tables import GroupPartition, PartitionName
from checkers.evidence.coordinators import (
    OFFSETS_TOPIC,
    SHARES_TOPIC,
    number_of,
    offsets_partition,
    shares_partition,
)
from checkers.groups import check_groups
from checkers.history.operations import OperationType
from checkers.licences.internal import may_have_lost
from checkers.registers import check_registers
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import TOPIC_ID, AdminStory

ALL: dict[str, Any] = {"scope": "all"}


def kept(**setup: Any) -> AdminStory:
    """The topic has one partition; brokers 2 and 3 are in sync at last."""
    story = AdminStory(**setup)
    story.record(1, "TOPIC_RECORD", {"name": OFFSETS_TOPIC, "topicId": TOPIC_ID})
    partition = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition})
    story.changed(20, isr=[2, 3], leader=2)
    return story


@pytest.mark.parametrize(
    ("kind", "spec", "nodes", "lost"),
    [
        ("wipe-disk", ALL, ["n2", "n3"], True),
        ("power-loss", {}, ["n2", "n3"], True),
        ("wipe-disk", {"scope": "topic", "topic": None}, ["n2", "n3"], True),
        ("wipe-disk", {"scope": "topic", "topic": "log-0"}, ["n2", "n3"], False),
        ("wipe-disk", ALL, ["n1", "n2"], False),
        ("wipe-disk", {"log_dir": 2, "removed": [f"{OFFSETS_TOPIC}-0"]}, ["n2", "n3"], True),
        ("wipe-disk", {"log_dir": 2, "removed": ["log-0-0"]}, ["n2", "n3"], False),
        ("kill", {}, ["n2", "n3", "stranger"], False),
    ],
)
def test_disks_of_all_in_sync(kind: str, spec: dict[str, Any], nodes: list[str], *, lost: bool) -> None:
    story = kept()
    story.fault(30, 40, kind, *nodes, **spec)
    assert (may_have_lost(story.history(), OFFSETS_TOPIC) is not None) is lost


@pytest.mark.parametrize(("back", "lost"), [(True, False), (False, True)])
def test_one_that_was_in_sync_again_counts_no_more(*, back: bool, lost: bool) -> None:
    story = kept()
    story.fault(30, 40, "wipe-disk", "n2", **ALL)
    story.changed(35, isr=[3], leader=3)
    if back:
        story.changed(50, isr=[3, 2])
    story.fault(60, 70, "wipe-disk", "n3", **ALL)
    assert (may_have_lost(story.history(), OFFSETS_TOPIC) is not None) is lost


def test_where_the_log_ends_before_any_disk_may_have_been_the_last() -> None:
    story = kept()
    story.fault(30, 40, "wipe-disk", "n3", **ALL)
    story.changed(50, isr=[3, 2])
    assert may_have_lost(story.history(), OFFSETS_TOPIC) is None
    assert "brokers [3]" in str(may_have_lost(story.history(cut=2), OFFSETS_TOPIC))


def test_where_nothing_shows_the_topic_any_disk_may_have_been_the_last() -> None:
    story = AdminStory()
    assert may_have_lost(story.history(metadata_log=False), OFFSETS_TOPIC) is None
    story.fault(20, 25, "kill", "n2")
    story.fault(30, 40, "wipe-disk", "n1", "stranger", **ALL)
    assert "brokers [1]" in str(may_have_lost(story.history(metadata_log=False), OFFSETS_TOPIC))


@pytest.mark.parametrize(("enabled", "lost"), [("true", True), ("false", False)])
def test_an_unclean_election_that_was_permitted(enabled: str, *, lost: bool) -> None:
    story = kept(config={"unclean.leader.election.enable": enabled})
    story.changed(50, isr=[1], leader=1, leaderRecoveryState=1)
    text = str(may_have_lost(story.history(), OFFSETS_TOPIC))
    assert ("broker 1 was elected uncleanly" in text) is lost


@pytest.mark.parametrize(
    ("until_ms", "lost"), [(29.9, False), (30.1, True), (39, True)], ids=["before", "meanwhile", "after"]
)
def test_what_was_struck_later_had_not_been_lost(until_ms: float, *, lost: bool) -> None:
    story = kept()
    story.fault(30, 40, "wipe-disk", "n2", "n3", **ALL)
    for history in (story.history(), story.history(metadata_log=False)):
        text = may_have_lost(history, OFFSETS_TOPIC, 0, until_ns=round(until_ms * 1e6))
        assert (text is not None) is lost


@pytest.mark.parametrize(("until_ms", "lost"), [(49, False), (50, True)])
def test_before_an_unclean_election_nothing_was_lost(until_ms: float, *, lost: bool) -> None:
    story = kept(config={"unclean.leader.election.enable": "true"})
    story.changed(50, isr=[1], leader=1, leaderRecoveryState=1)
    text = may_have_lost(story.history(), OFFSETS_TOPIC, 0, until_ns=round(until_ms * 1e6))
    assert (text is not None) is lost


def test_where_the_log_ends_early_another_election_may_have_followed() -> None:
    """A broker reported the first one at once: what was asked for a second later it did not cost."""
    story = kept(config={"unclean.leader.election.enable": "true"})
    story.changed(50, isr=[1], leader=1, leaderRecoveryState=1)
    story.changed(60, isr=[1, 2])
    seen = {OFFSETS_TOPIC: [[0, 1, 2, [1, 2, 3], [1], []]]}
    story.observe(55, "partitions", {"began_ns": 54_000_000, "topics": seen})
    late_ns = 2_000_000_000
    assert may_have_lost(story.history(), OFFSETS_TOPIC, 0, late_ns) is None
    cut = story.history(cut=4)
    assert "configs allowed" in str(may_have_lost(cut, OFFSETS_TOPIC, 0, late_ns))
    assert may_have_lost(cut, OFFSETS_TOPIC, 0, until_ns=40_000_000) is None
    assert may_have_lost(cut, OFFSETS_TOPIC, until_ns=40_000_000) is not None


def test_one_that_was_asked_for_everywhere() -> None:
    story = kept()
    story.elect(45, 55, all_partitions=True, code=None)
    story.changed(50, isr=[1], leader=1, leaderRecoveryState=1)
    assert "elected uncleanly" in str(may_have_lost(story.history(), OFFSETS_TOPIC))


@pytest.mark.parametrize(
    ("kind", "asked", "how", "lost"),
    [
        ("unclean", None, "ok", True),
        ("unclean", [[OFFSETS_TOPIC, 7]], "info", True),
        ("unclean", [["log-0", 0]], "ok", False),
        ("unclean", None, "fail", False),
        ("preferred", None, "ok", False),
    ],
)
def test_one_that_was_asked_for_where_nothing_shows_it(
    kind: str, asked: list[Any] | None, how: str, *, lost: bool
) -> None:
    story = kept()
    value = {"partitions": asked, "to": "n1"}
    answer = value | {"code": 0, "results": [], "took_ms": 1}
    story.both(30, 31, "elect-leaders", value, answer=answer, key=kind, how=how)
    assert may_have_lost(story.history(), OFFSETS_TOPIC) is None
    assert (may_have_lost(story.history(metadata_log=False), OFFSETS_TOPIC) is not None) is lost
    assert (may_have_lost(story.history(cut=2), OFFSETS_TOPIC) is not None) is lost


@pytest.mark.parametrize(
    ("asked", "partition", "until_ms", "lost"),
    [
        (None, 0, 29, False),
        (None, 0, 30, True),
        ([[OFFSETS_TOPIC, 0]], 0, 700, True),
        ([[OFFSETS_TOPIC, 7]], 0, 700, False),
        ([["log-0", 0], [OFFSETS_TOPIC, 7], [OFFSETS_TOPIC, 0]], None, 700, True),
        ([[OFFSETS_TOPIC, 0]], None, 29, False),
    ],
)
def test_an_election_that_nothing_shows_happened_after_the_request_in_its_partition(
    asked: list[Any] | None, partition: int | None, until_ms: int, *, lost: bool
) -> None:
    story = kept()
    story.both(30, 31, "elect-leaders", {"partitions": asked, "to": "n1"}, key="unclean", how="info")
    for history in (story.history(metadata_log=False), story.history(cut=2)):
        text = may_have_lost(history, OFFSETS_TOPIC, partition, until_ns=until_ms * 1_000_000)
        assert (text is not None) is lost


def test_an_answer_for_one_partition_proves_nothing_of_another() -> None:
    """The request was refused for partition 7 and carried out in partition 8."""
    story = kept()
    for asked in (None, [[OFFSETS_TOPIC, 7], [OFFSETS_TOPIC, 8]]):
        value = {"partitions": asked, "to": "n1"}
        results = [[OFFSETS_TOPIC, 7, 83, None], [OFFSETS_TOPIC, 8, 0, None], [OFFSETS_TOPIC, 0, 83, None]]
        answer = value | {"code": 0, "results": results, "took_ms": 1}
        story = kept()
        story.both(30, 31, "elect-leaders", value, answer=answer, key="unclean")
        history = story.history(metadata_log=False)
        assert may_have_lost(history, OFFSETS_TOPIC) is not None
        assert may_have_lost(history, OFFSETS_TOPIC, 7) is None
        assert may_have_lost(history, OFFSETS_TOPIC, 8) is not None


def test_where_nothing_shows_it_configs_count_from_the_time_when_they_were_set() -> None:
    story = AdminStory()
    request = {"config": "unclean.leader.election.enable", "value": "true", "to": "n1"}
    story.both(30, 31, "alter-topic", request, key=OFFSETS_TOPIC)
    history = story.history(metadata_log=False)
    assert may_have_lost(history, OFFSETS_TOPIC, until_ns=29_000_000) is None
    assert "configs allowed" in str(may_have_lost(history, OFFSETS_TOPIC, until_ns=31_000_000))


@pytest.mark.parametrize(("node", "lost"), [("n1", True), ("stranger", False)])
def test_one_that_configs_allowed_where_nothing_shows_it(node: str, *, lost: bool) -> None:
    story = kept(node_config={node: {"unclean.leader.election.enable": "true"}})
    assert may_have_lost(story.history(), OFFSETS_TOPIC) is None
    assert (may_have_lost(story.history(metadata_log=False), OFFSETS_TOPIC) is not None) is lost


def test_so_groups_are_not_known_to_be_wrong() -> None:
    story = kept(workload={"kind": "groups", "groups": ["g"]})
    poll = {"client": "c", "isolation": "read_committed", "group": "g"}
    answer = {**poll, "records": [], "assigned": [[0, 0]], "membership": ["m", 1]}
    story.both(22, 23, "poll", poll, answer=answer, key="log-0")
    asked = {"client": "c", "topic": "log-0", "offsets": [[0, 1]], "membership": ["m", 1]}
    story.both(25, 26, "commit", asked, key="g")
    answer = {**poll, "records": [], "assigned": [[0, 5]], "membership": ["m", 2]}
    story.both(50, 51, "poll", poll, answer=answer, key="log-0")
    assert check_groups(story.history()).validity is Validity.INVALID
    story.fault(30, 40, "wipe-disk", "n2", "n3", **ALL)
    result = check_groups(story.history())
    assert (result.validity, set(result.counts)) == (Validity.UNKNOWN, {"committed-offset-lost"})
    assert "damage to disks of replicas of" in str(result.unknown_because)


def test_no_loss_makes_a_generation_known_that_nobody_had_seen() -> None:
    story = kept(workload={"kind": "groups", "groups": ["g"]})
    poll = {"client": "c", "isolation": "read_committed", "group": "g"}
    answer = {**poll, "records": [], "assigned": [[0, 0]], "membership": ["m", 1]}
    story.both(22, 23, "poll", poll, answer=answer, key="log-0")
    asked = {"client": "c", "topic": "log-0", "offsets": [[0, 1]], "membership": ["m", 9]}
    story.both(45, 46, "commit", asked, key="g")
    story.fault(30, 40, "wipe-disk", "n2", "n3", **ALL)
    result = check_groups(story.history())
    assert [(a.id, a.illegal) for a in result.anomalies] == [("premature-commit", True)]


@pytest.mark.parametrize(
    ("group", "number"),
    [("g", 3), ("group-0", 48), ("grüße-𝄞", 22), ("copy-group", 45), ("polygenelubricants", 0)],
)
def test_a_group_is_kept_in_one_partition(group: str, number: int) -> None:
    """Of fifty, by hashes that Java computed; the last one is an int without an absolute value."""
    assert number_of(group, 50) == number


@pytest.mark.parametrize(
    ("topic", "known"),
    [
        ({"name": "log-0", "topic_id": TOPIC_ID, "partitions": 2}, True),
        ({"name": "log-0", "partitions": 2}, False),
        ({"name": "another", "topic_id": TOPIC_ID, "partitions": 2}, False),
    ],
)
def test_the_state_of_a_share_group_is_kept_by_partition(topic: dict[str, Any], *, known: bool) -> None:
    story = AdminStory(topics=[topic])
    story.record(1, "TOPIC_RECORD", {"name": SHARES_TOPIC, "topicId": TOPIC_ID})
    partition = {"topicId": TOPIC_ID, "replicas": [1], "isr": [1], "leader": 1, "leaderEpoch": 0}
    for each in range(3):
        story.record(2 + each, "PARTITION_RECORD", {"partitionId": each, **partition})
    place = shares_partition(story.history(), GroupPartition("g", "log-0", 1))
    expected = PartitionName(SHARES_TOPIC, number_of(f"g:{TOPIC_ID}:1", 3)) if known else None
    assert place == expected


def test_of_a_topic_that_is_not_listed_whole_no_partition_is_known() -> None:
    story = AdminStory()
    assert offsets_partition(story.history(), "g") is None
    story.record(1, "TOPIC_RECORD", {"name": OFFSETS_TOPIC, "topicId": TOPIC_ID})
    partition = {"topicId": TOPIC_ID, "replicas": [1], "isr": [1], "leader": 1, "leaderEpoch": 0}
    story.record(2, "PARTITION_RECORD", {"partitionId": 1, **partition})
    assert offsets_partition(story.history(), "g") is None
    story.record(3, "PARTITION_RECORD", {"partitionId": 0, **partition})
    assert offsets_partition(story.history(), "g") == PartitionName(OFFSETS_TOPIC, 1)


def test_one_partition_that_may_have_lost_records_proves_nothing_of_another() -> None:
    story = kept()
    partition = {"topicId": TOPIC_ID, "replicas": [1], "isr": [1], "leader": 1, "leaderEpoch": 0}
    story.record(21, "PARTITION_RECORD", {"partitionId": 1, **partition})
    story.fault(30, 40, "wipe-disk", "n1", **ALL)
    assert may_have_lost(story.history(), OFFSETS_TOPIC, 0) is None
    assert may_have_lost(story.history(), OFFSETS_TOPIC, 1) is not None


@pytest.mark.parametrize(("name", "licensed"), [("offset/g/log-0/0", True), ("config/log-0/x", False)])
def test_so_lost_offsets_are_licensed_and_nothing_else_is(name: str, *, licensed: bool) -> None:
    story = kept(workload={"kind": "offsets"})
    story.both(10, 11, "write", 1, key=name)
    story.both(12, 13, "write", 2, key=name)
    story.add(700, "runner", OperationType.OK, "phase", key="final-read")
    story.both(710, 711, "read", None, answer=1, key=name)
    before = check_registers(story.history())
    assert [a.id for a in before.anomalies if a.illegal] == ["lost-value"]
    story.fault(30, 40, "wipe-disk", "n2", "n3", **ALL)
    result = check_registers(story.history())
    assert (result.validity is not Validity.INVALID) is licensed
    assert any(a.licence is not None for a in result.anomalies) is licensed


@pytest.mark.parametrize(
    ("written_ms", "read_ms", "licensed"),
    [(22, 700, True), (45, 700, True), (60, 700, False), (22, 26, False)],
    ids=["before it", "during it", "after it", "read before it"],
)
def test_an_offset_is_lost_only_between_its_commit_and_the_read(
    written_ms: int, read_ms: int, *, licensed: bool
) -> None:
    story = kept(workload={"kind": "offsets"})
    story.fault(30, 40, "wipe-disk", "n2", "n3", **ALL)
    story.changed(42, isr=[1], leader=1)
    story.changed(50, isr=[1, 2, 3])
    story.both(10, 11, "write", 1, key="offset/g/log-0/0")
    story.both(written_ms, written_ms + 1, "write", 2, key="offset/g/log-0/0")
    story.add(read_ms - 1, "runner", OperationType.OK, "phase", key="final-read")
    story.both(read_ms, read_ms + 1, "read", None, answer=1, key="offset/g/log-0/0")
    (lost,) = (a for a in check_registers(story.history()).anomalies if a.id == "lost-value")
    assert lost.illegal is not licensed


@pytest.mark.parametrize(("partition", "licensed"), [(0, False), (1, True)])
def test_another_partition_that_may_have_lost_records_licenses_no_lost_offset(
    partition: int, *, licensed: bool
) -> None:
    """The group's offsets are in partition 1 of 2; broker 1 has one partition alone."""
    assert number_of("g", 2) == 1
    story = AdminStory(workload={"kind": "offsets"})
    story.record(1, "TOPIC_RECORD", {"name": OFFSETS_TOPIC, "topicId": TOPIC_ID})
    for number in (0, 1):
        brokers = [1] if number == partition else [2, 3]
        state = {"replicas": brokers, "isr": brokers, "leader": brokers[0], "leaderEpoch": 0}
        story.record(2 + number, "PARTITION_RECORD", {"partitionId": number, "topicId": TOPIC_ID, **state})
    story.fault(30, 40, "wipe-disk", "n1", **ALL)
    for at_ms, value in ((10, 1), (12, 2)):
        story.both(at_ms, at_ms + 1, "write", value, key="offset/g/log-0/0")
    story.add(700, "runner", OperationType.OK, "phase", key="final-read")
    story.both(710, 711, "read", None, answer=1, key="offset/g/log-0/0")
    (lost,) = (a for a in check_registers(story.history()).anomalies if a.id == "lost-value")
    assert lost.illegal is not licensed
