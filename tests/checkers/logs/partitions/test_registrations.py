"""Brokers that are fenced, leave, or come back after a kill: which of them may be in an ISR or ELR."""

from typing import Any

import pytest

from checkers.logs.partitions import check_partitions
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch, packed

CHOSEN, KEPT = "inactive-broker-chosen", "unclean-broker-kept"


def story(**setup: Any) -> AdminStory:
    """Brokers 1 to 3 register and are unfenced; a partition has them all in sync."""
    told = AdminStory(**setup)
    feature(told, 0.1)
    for broker in (1, 2, 3):
        registered(told, broker, broker, f"first-{broker}")
        changed(told, broker + 0.5, broker, fenced=-1)
    told.created(at_ms=5)
    return told


def feature(told: AdminStory, at_ms: float, level: int = 1) -> None:
    name = "eligible.leader.replicas.version"
    told.record(at_ms, "FEATURE_LEVEL_RECORD", {"name": name, "featureLevel": level})


def registered(told: AdminStory, at_ms: float, broker: int, incarnation: str) -> None:
    epoch = {"brokerEpoch": len(told.records), "incarnationId": incarnation, "fenced": True}
    told.record(at_ms, "REGISTER_BROKER_RECORD", {"brokerId": broker, **epoch})


def changed(told: AdminStory, at_ms: float, broker: int, **fields: int) -> None:
    epoch = max(
        data["brokerEpoch"]
        for _, _, kind, data in told.records
        if kind == "REGISTER_BROKER_RECORD" and data["brokerId"] == broker
    )
    told.record(
        at_ms, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": broker, "brokerEpoch": epoch, **fields}
    )


def ids(told: AdminStory) -> dict[str, int]:
    return check_partitions(told.history()).counts


@pytest.mark.parametrize(
    ("how", "found"),
    [
        pytest.param({"fenced": 1}, {CHOSEN: 1}, id="fenced"),
        pytest.param({"inControlledShutdown": 1}, {CHOSEN: 1}, id="leaving"),
        pytest.param({"fenced": 0}, {}, id="neither"),
    ],
)
def test_a_broker_that_joins(how: dict[str, int], found: dict[str, int]) -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    changed(told, 11, 3, **how)
    told.changed(12, isr=[1, 2, 3])
    assert ids(told) == found


def test_a_broker_that_is_elected() -> None:
    told = story()
    changed(told, 10, 2, fenced=1)
    told.changed(11, leader=2)
    result = check_partitions(told.history())
    assert result.counts == {CHOSEN: 1}
    (anomaly,) = result.anomalies
    assert "broker 2 is fenced" in anomaly.summary
    assert anomaly.subject == f"{TOPIC}/0"


def test_a_broker_that_was_unfenced_before() -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    changed(told, 11, 3, fenced=1)
    changed(told, 12, 3, fenced=-1)
    told.changed(13, isr=[1, 2, 3])
    assert ids(told) == {}


def test_a_fenced_broker_that_stays_is_not_chosen() -> None:
    told = story()
    changed(told, 10, 3, fenced=1)
    told.changed(11, isr=[1, 3])
    told.changed(12, leader=-1, isr=[3], eligibleLeaderReplicas=[1])
    assert CHOSEN not in ids(told)


def test_nothing_is_said_of_a_broker_that_is_not_registered() -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    changed(told, 11, 3, fenced=1)
    told.record(12, "UNREGISTER_BROKER_RECORD", {"brokerId": 3})
    told.record(13, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 9, "fenced": 1})
    told.changed(14, isr=[1, 2, 3])
    assert CHOSEN not in ids(told)


def back(told: AdminStory, **fault: Any) -> None:
    """Broker 3 comes back at 40 ms, after a fault at 20 ms."""
    if fault:
        told.fault(20, 30, fault.pop("kind"), *fault.pop("nodes", ("n3",)), **fault)
    registered(told, 40, 3, "second-3")
    changed(told, 41, 3, fenced=-1)


@pytest.mark.parametrize("kind", ["kill", "power-loss", "wipe-disk", "dead-disk"])
def test_a_broker_that_was_killed_and_stayed(kind: str) -> None:
    told = story()
    back(told, kind=kind)
    assert ids(told) == ({} if kind == "dead-disk" else {KEPT: 1})


def test_a_broker_that_was_killed_and_stayed_eligible() -> None:
    told = story()
    told.changed(10, leader=-1, isr=[], eligibleLeaderReplicas=[2, 3])
    back(told, kind="kill")
    assert ids(told) == {KEPT: 1}


def test_a_broker_that_was_killed_and_is_out() -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    back(told, kind="kill")
    result = check_partitions(told.history())
    assert (result.counts, result.figures["killed_brokers_back"]) == ({}, 1)


def test_who_is_unfenced_again_may_have_joined_meanwhile() -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    back(told, kind="kill")
    told.changed(42, isr=[1, 2, 3])
    changed(told, 43, 3, fenced=1)
    changed(told, 44, 3, fenced=-1)
    assert ids(told) == {}


def test_one_process_that_registers_twice() -> None:
    told = story()
    back(told, kind="kill")
    assert ids(told) == {KEPT: 1}
    told = story()
    told.fault(20, 30, "kill", "n3")
    registered(told, 39, 3, "second-3")
    back(told)
    assert ids(told) == {KEPT: 1}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({}, id="nothing killed it"),
        pytest.param({"kind": "stop"}, id="it was stopped"),
        pytest.param({"kind": "kill", "nodes": ("n2",)}, id="another one was killed"),
        pytest.param({"kind": "pause"}, id="it was paused"),
    ],
)
def test_what_may_have_ended_cleanly(fault: dict[str, Any]) -> None:
    told = story()
    back(told, **fault)
    assert ids(told) == {}


def test_a_stop_before_the_kill() -> None:
    told = story()
    told.fault(15, 18, "stop", "n3")
    back(told, kind="kill")
    assert ids(told) == {}


def test_a_script_that_restarted_it() -> None:
    told = story()
    told.both(17, 18, "configure", {"properties": {}}, key="n3")
    back(told, kind="kill")
    assert ids(told) == {}


def test_without_eligible_leaders_a_broker_stays() -> None:
    told = story()
    feature(told, 15, level=0)
    back(told, kind="kill")
    assert ids(told) == {}


def test_other_features_are_no_matter() -> None:
    told = story()
    told.record(15, "FEATURE_LEVEL_RECORD", {"name": "group.version", "featureLevel": 0})
    back(told, kind="kill")
    assert ids(told) == {KEPT: 1}


def test_a_broker_that_the_set_up_does_not_name() -> None:
    told = story()
    for at_ms, incarnation in ((15, "first-9"), (40, "second-9")):
        registered(told, at_ms, 9, incarnation)
        changed(told, at_ms + 1, 9, fenced=-1)
    told.fault(20, 30, "kill", "n9")
    assert ids(told) == {}


@pytest.mark.parametrize(
    ("between", "found"),
    [
        pytest.param(None, {}, id="with the registration"),
        pytest.param("NO_OP_RECORD", {"restated-change": 1}, id="before it"),
    ],
)
def test_changes_of_one_registration_may_say_the_same(between: str | None, found: dict[str, int]) -> None:
    told = story()
    told.changed(10, leader=-1, isr=[], eligibleLeaderReplicas=[3])
    told.changed(20, eligibleLeaderReplicas=[])
    told.changed(21, eligibleLeaderReplicas=[])
    if between is not None:
        told.record(22, between, {})
    registered(told, 23, 3, "second-3")
    assert ids(told) == found


def test_a_change_with_a_registration_that_restates_what_was_so_before() -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    told.record(11, "NO_OP_RECORD", {})
    told.changed(12, isr=[1, 2])
    registered(told, 13, 3, "second-3")
    assert ids(told) == {"restated-change": 1}


def test_after_a_record_that_could_not_be_decoded_nothing_is_known() -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    changed(told, 11, 3, fenced=1)
    told.record(12, "OPAQUE_RECORD", {"type": 27, "version": 9, "size": 30})
    told.changed(13, isr=[1, 2, 3])
    assert ids(told) == {}


def test_in_a_log_that_lacks_records_nothing_is_known() -> None:
    told = story()
    told.changed(10, isr=[1, 2])
    changed(told, 11, 3, fenced=1)
    told.changed(13, isr=[1, 2, 3])
    end = len(told.records)
    lacking: dict[str, Any] = {"batches": packed([Batch(0, end), Batch(end, 2)]), "count": 2, "end": end + 2}
    assert ids(told) == {CHOSEN: 1}
    assert check_partitions(told.history(**lacking)).counts == {}


def test_after_a_record_that_could_not_be_decoded_nobody_is_said_to_have_stayed() -> None:
    told = story()
    told.record(12, "OPAQUE_RECORD", {"type": 5, "version": 9, "size": 30})
    back(told, kind="kill")
    assert ids(told) == {}
