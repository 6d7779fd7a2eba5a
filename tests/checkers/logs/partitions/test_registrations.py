"""Brokers that are fenced, leave, or come back after a kill: which of them may be in an ISR or ELR."""

from typing import Any

import pytest

from checkers.logs.partitions import check_partitions
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch, packed

CHOSEN, KEPT = "inactive-broker-chosen", "unclean-broker-kept"
ASSIGNED = "assigned-to-unregistered"


def story(**setup: Any) -> AdminStory:
    """Brokers 1 to 3 register and are unfenced; a partition has them all in sync."""
    recording = AdminStory(**setup)
    feature(recording, 0.1)
    for broker in (1, 2, 3):
        registered(recording, broker, broker, f"first-{broker}")
        changed(recording, broker + 0.5, broker, fenced=-1)
    recording.created(at_ms=5)
    return recording


def feature(recording: AdminStory, at_ms: float, level: int = 1) -> None:
    name = "eligible.leader.replicas.version"
    recording.record(at_ms, "FEATURE_LEVEL_RECORD", {"name": name, "featureLevel": level})


def registered(recording: AdminStory, at_ms: float, broker: int, incarnation: str) -> None:
    epoch = {"brokerEpoch": len(recording.records), "incarnationId": incarnation, "fenced": True}
    recording.record(at_ms, "REGISTER_BROKER_RECORD", {"brokerId": broker, **epoch})


def changed(recording: AdminStory, at_ms: float, broker: int, **fields: int) -> None:
    epoch = max(
        data["brokerEpoch"]
        for _, _, kind, data in recording.records
        if kind == "REGISTER_BROKER_RECORD" and data["brokerId"] == broker
    )
    recording.record(
        at_ms, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": broker, "brokerEpoch": epoch, **fields}
    )


def ids(recording: AdminStory) -> dict[str, int]:
    return check_partitions(recording.history()).counts


@pytest.mark.parametrize(
    ("how", "found"),
    [
        pytest.param({"fenced": 1}, {CHOSEN: 1}, id="fenced"),
        pytest.param({"inControlledShutdown": 1}, {CHOSEN: 1}, id="leaving"),
        pytest.param({"fenced": 0}, {}, id="neither"),
    ],
)
def test_a_broker_that_joins(how: dict[str, int], found: dict[str, int]) -> None:
    recording = story()
    recording.changed(10, isr=[1, 2])
    changed(recording, 11, 3, **how)
    recording.changed(12, isr=[1, 2, 3])
    assert ids(recording) == found


def test_a_broker_that_is_elected() -> None:
    recording = story()
    changed(recording, 10, 2, fenced=1)
    recording.changed(11, leader=2)
    result = check_partitions(recording.history())
    assert result.counts == {CHOSEN: 1}
    (anomaly,) = result.anomalies
    assert "broker 2 is fenced" in anomaly.summary
    assert anomaly.subject == f"{TOPIC}/0"


def test_a_broker_that_was_unfenced_before() -> None:
    recording = story()
    recording.changed(10, isr=[1, 2])
    changed(recording, 11, 3, fenced=1)
    changed(recording, 12, 3, fenced=-1)
    recording.changed(13, isr=[1, 2, 3])
    assert ids(recording) == {}


def test_a_fenced_broker_that_stays_is_not_chosen() -> None:
    recording = story()
    changed(recording, 10, 3, fenced=1)
    recording.changed(11, isr=[1, 3])
    recording.changed(12, leader=-1, isr=[3], eligibleLeaderReplicas=[1])
    assert CHOSEN not in ids(recording)


def unregistered() -> AdminStory:
    """The registration of broker 3 is removed at 12 ms."""
    recording = story()
    recording.changed(10, isr=[1, 2])
    recording.record(12, "UNREGISTER_BROKER_RECORD", {"brokerId": 3})
    return recording


def test_a_broker_that_is_not_registered_is_not_chosen() -> None:
    recording = unregistered()
    recording.changed(14, isr=[1, 2, 3])
    assert ids(recording)[CHOSEN] == 1


def test_a_broker_that_registered_again_may_be_chosen() -> None:
    recording = unregistered()
    registered(recording, 13, 3, "second-3")
    changed(recording, 14, 3, fenced=-1)
    recording.changed(15, isr=[1, 2, 3])
    assert CHOSEN not in ids(recording)


def test_nothing_is_reported_of_a_broker_that_was_never_registered() -> None:
    recording = story()
    recording.record(13, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 9, "fenced": 1})
    recording.changed(14, replicas=[1, 2, 9], isr=[1, 2, 9])
    assert not {CHOSEN, ASSIGNED} & ids(recording).keys()


@pytest.mark.parametrize("again", [False, True])
def test_a_broker_that_is_not_registered_gets_no_replicas(*, again: bool) -> None:
    recording = story()
    recording.changed(10, replicas=[1, 2], isr=[1, 2])
    recording.record(12, "UNREGISTER_BROKER_RECORD", {"brokerId": 3})
    if again:
        registered(recording, 13, 3, "second-3")
    recording.changed(14, replicas=[1, 2, 3], addingReplicas=[3])
    assert ids(recording).get(ASSIGNED, 0) == (0 if again else 1)


def test_a_broker_that_is_not_registered_keeps_its_replicas() -> None:
    recording = unregistered()
    recording.changed(14, replicas=[3, 1, 2])
    assert ASSIGNED not in ids(recording)


def back(recording: AdminStory, **fault: Any) -> None:
    """Broker 3 comes back at 40 ms, after a fault at 20 ms."""
    if fault:
        recording.fault(20, 30, fault.pop("kind"), *fault.pop("nodes", ("n3",)), **fault)
    registered(recording, 40, 3, "second-3")
    changed(recording, 41, 3, fenced=-1)


@pytest.mark.parametrize("kind", ["kill", "power-loss", "wipe-disk", "dead-disk"])
def test_a_broker_that_was_killed_and_stayed(kind: str) -> None:
    recording = story()
    back(recording, kind=kind)
    assert ids(recording) == ({} if kind == "dead-disk" else {KEPT: 1})


def test_a_broker_that_was_killed_and_stayed_eligible() -> None:
    recording = story()
    recording.changed(10, leader=-1, isr=[], eligibleLeaderReplicas=[2, 3])
    back(recording, kind="kill")
    assert ids(recording) == {KEPT: 1}


def test_a_broker_that_was_killed_and_is_out() -> None:
    recording = story()
    recording.changed(10, isr=[1, 2])
    back(recording, kind="kill")
    result = check_partitions(recording.history())
    assert (result.counts, result.figures["killed_brokers_back"]) == ({}, 1)


def test_who_is_unfenced_again_may_have_joined_meanwhile() -> None:
    recording = story()
    recording.changed(10, isr=[1, 2])
    back(recording, kind="kill")
    recording.changed(42, isr=[1, 2, 3])
    changed(recording, 43, 3, fenced=1)
    changed(recording, 44, 3, fenced=-1)
    assert ids(recording) == {}


def test_one_process_that_registers_twice() -> None:
    recording = story()
    back(recording, kind="kill")
    assert ids(recording) == {KEPT: 1}
    recording = story()
    recording.fault(20, 30, "kill", "n3")
    registered(recording, 39, 3, "second-3")
    back(recording)
    assert ids(recording) == {KEPT: 1}


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
    recording = story()
    back(recording, **fault)
    assert ids(recording) == {}


def test_a_stop_before_the_kill() -> None:
    recording = story()
    recording.fault(15, 18, "stop", "n3")
    back(recording, kind="kill")
    assert ids(recording) == {}


def test_a_script_that_restarted_it() -> None:
    recording = story()
    recording.both(17, 18, "configure", {"properties": {}}, key="n3")
    back(recording, kind="kill")
    assert ids(recording) == {}


def test_without_eligible_leaders_a_broker_stays() -> None:
    recording = story()
    feature(recording, 15, level=0)
    back(recording, kind="kill")
    assert ids(recording) == {}


def test_other_features_are_no_matter() -> None:
    recording = story()
    recording.record(15, "FEATURE_LEVEL_RECORD", {"name": "group.version", "featureLevel": 0})
    back(recording, kind="kill")
    assert ids(recording) == {KEPT: 1}


def test_a_broker_that_the_set_up_does_not_name() -> None:
    recording = story()
    for at_ms, incarnation in ((15, "first-9"), (40, "second-9")):
        registered(recording, at_ms, 9, incarnation)
        changed(recording, at_ms + 1, 9, fenced=-1)
    recording.fault(20, 30, "kill", "n9")
    assert ids(recording) == {}


@pytest.mark.parametrize(
    ("between", "found"),
    [
        pytest.param(None, {}, id="with the registration"),
        pytest.param("NO_OP_RECORD", {"restated-change": 1}, id="before it"),
    ],
)
def test_changes_of_one_registration_may_say_the_same(between: str | None, found: dict[str, int]) -> None:
    recording = story()
    recording.changed(10, leader=-1, isr=[], eligibleLeaderReplicas=[3])
    recording.changed(20, eligibleLeaderReplicas=[])
    recording.changed(21, eligibleLeaderReplicas=[])
    if between is not None:
        recording.record(22, between, {})
    registered(recording, 23, 3, "second-3")
    assert ids(recording) == found


def test_a_change_with_a_registration_that_restates_what_was_so_before() -> None:
    recording = story()
    recording.changed(10, isr=[1, 2])
    recording.record(11, "NO_OP_RECORD", {})
    recording.changed(12, isr=[1, 2])
    registered(recording, 13, 3, "second-3")
    assert ids(recording) == {"restated-change": 1}


def test_after_a_record_that_could_not_be_decoded_nothing_is_known() -> None:
    recording = story()
    recording.changed(10, isr=[1, 2])
    changed(recording, 11, 3, fenced=1)
    recording.record(12, "OPAQUE_RECORD", {"type": 27, "version": 9, "size": 30})
    recording.changed(13, isr=[1, 2, 3])
    assert ids(recording) == {}


def test_in_a_log_that_lacks_records_nothing_is_known() -> None:
    recording = story()
    recording.changed(10, isr=[1, 2])
    changed(recording, 11, 3, fenced=1)
    recording.changed(13, isr=[1, 2, 3])
    end = len(recording.records)
    lacking: dict[str, Any] = {"batches": packed([Batch(0, end), Batch(end, 2)]), "count": 2, "end": end + 2}
    assert ids(recording) == {CHOSEN: 1}
    assert check_partitions(recording.history(**lacking)).counts == {}


def test_after_a_record_that_could_not_be_decoded_nobody_is_reported_to_have_stayed() -> None:
    recording = story()
    recording.record(12, "OPAQUE_RECORD", {"type": 5, "version": 9, "size": 30})
    back(recording, kind="kill")
    assert ids(recording) == {}
