"""What brokers tell at the end of the configs of topics is what the metadata log has."""

from typing import Any

import pytest

from checkers.kraft.metadata import check_metadata
from checkers.kraft.metadata.configs import TOPIC_CONFIGS
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.log_histories import MS

MIN_ISR, AGE = "min.insync.replicas", "segment.ms"
ASKED_MS = 20_000
"""When brokers are asked; what was there until 10 s before has reached them."""


def story(**setup: Any) -> AdminStory:
    """A topic with a config from its beginning, and one that is altered at 1 s and at 15 s."""
    recording = AdminStory(**setup)
    recording.created(at_ms=-20)
    for at_ms, name, value in ((-18, MIN_ISR, "2"), (1_000, AGE, "500"), (15_000, AGE, "4000")):
        recording.record(
            at_ms,
            "CONFIG_RECORD",
            {"resourceType": 2, "resourceName": TOPIC, "name": name, "value": value},
        )
    return recording


def observe_configs(recording: AdminStory, configs: dict[str, str], node: str = "n2") -> None:
    value = {"began_ns": ASKED_MS * MS, "topics": {TOPIC: configs}}
    recording.observe(ASKED_MS + 5, TOPIC_CONFIGS, value, node=node)


def found(recording: AdminStory, **log: Any) -> list[str]:
    result = check_metadata(recording.history(**log))
    return [f"{anomaly.id} {anomaly.subject}" for anomaly in result.anomalies]


@pytest.mark.parametrize("age", ["500", "4000"])
def test_values_of_the_log_that_may_still_be_on_their_way(age: str) -> None:
    recording = story()
    observe_configs(recording, {MIN_ISR: "2", AGE: age})
    result = check_metadata(recording.history())
    assert result.anomalies == ()
    assert result.validity is Validity.VALID
    assert result.figures["configs_finally_compared"] == 2


@pytest.mark.parametrize(
    ("configs", "name"),
    [
        pytest.param({MIN_ISR: "1", AGE: "4000"}, MIN_ISR, id="another value"),
        pytest.param({AGE: "4000"}, MIN_ISR, id="none"),
        pytest.param({MIN_ISR: "2"}, AGE, id="none any more"),
        pytest.param({MIN_ISR: "2", AGE: "4000", "flush.ms": "7"}, "flush.ms", id="one of no record"),
    ],
)
def test_another_value_than_the_log_has_had_for_long(configs: dict[str, str], name: str) -> None:
    recording = story()
    observe_configs(recording, {MIN_ISR: "2", AGE: "4000"}, "n1")
    observe_configs(recording, configs)
    assert found(recording) == [f"config-against-log {TOPIC} {name}"]


def test_a_log_that_lacks_its_beginning_or_may_lack_its_end_shows_nothing() -> None:
    recording = story()
    observe_configs(recording, {MIN_ISR: "1"})
    assert found(recording, log_start=3) == []
    assert found(recording, cut=len(recording.records) - 1) == []


@pytest.mark.parametrize(("version", "expected"), [("4.0.0", []), ("3.9.2", ["config-against-log"])])
def test_a_config_that_kafka_removed_need_not_be_reported(version: str, expected: list[str]) -> None:
    recording = story(kafka_version=version, node_versions={"n1": "3.9.0"})
    removed = {"name": "message.format.version", "value": "3.0-IV1"}
    recording.record(1_500, "CONFIG_RECORD", {"resourceType": 2, "resourceName": TOPIC} | removed)
    observe_configs(recording, {MIN_ISR: "2", AGE: "4000"})
    assert [each.split()[0] for each in found(recording)] == expected


@pytest.mark.parametrize(
    ("upgraded_ms", "expected"), [(1_600, []), (60_000, ["config-against-log"])], ids=["before", "after"]
)
def test_a_broker_that_is_upgraded_after_its_report_still_knew_it(
    upgraded_ms: int, expected: list[str]
) -> None:
    recording = story(kafka_version="3.9.0", later_versions=["4.0.0"])
    removed = {"name": "message.format.version", "value": "3.0-IV1"}
    recording.record(1_500, "CONFIG_RECORD", {"resourceType": 2, "resourceName": TOPIC} | removed)
    recording.fault(upgraded_ms, upgraded_ms + 10, "upgrade", "n2", version="4.0.0")
    observe_configs(recording, {MIN_ISR: "2", AGE: "4000"})
    assert [each.split()[0] for each in found(recording)] == expected


def test_the_config_of_a_topic_that_was_removed_before_the_snapshot_and_is_in_neither() -> None:
    recording = AdminStory()
    recording.record(-60, "TOPIC_RECORD", {"name": TOPIC, "topicId": "earlier"})
    recording.record(
        -50, "CONFIG_RECORD", {"resourceType": 2, "resourceName": TOPIC, "name": AGE, "value": "500"}
    )
    recording.record(-40, "REMOVE_TOPIC_RECORD", {"topicId": "earlier"})
    recording.created(at_ms=-20)
    observe_configs(recording, {})
    recording.records[0][2:] = ["NO_OP_RECORD", {}]
    kept = ["00000000000000000003-0000000001.checkpoint", []]
    result = check_metadata(recording.history(log_start=1, checkpoint=kept))
    assert result.anomalies == ()
    assert result.figures["configs_finally_compared"] == 2
