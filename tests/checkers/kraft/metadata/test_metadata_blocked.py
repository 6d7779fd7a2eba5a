"""A change of a config that is refused because of another config, which Kafka has removed."""

from typing import Any

import pytest

from checkers.kraft.metadata import check_metadata
from checkers.verdict.verdict import Anomaly
from tests.checkers.admin_histories import TOPIC, AdminStory

REMOVED, OTHER = "message.format.version", "max.message.bytes"
REFUSAL = f"Unknown topic config name: {REMOVED}"
ANOMALY = "config-change-blocked"


def alter(
    recording: AdminStory,
    at_ms: float,
    config: str,
    message: str | None = None,
    *,
    topic: str = TOPIC,
    code: int | None = None,
) -> None:
    """A request that is answered 2 ms later: refused if there is a message."""
    asked: dict[str, Any] = {"config": config, "value": "1"}
    answer = asked | {"code": (40 if message else 0) if code is None else code, "message": message}
    recording.both(at_ms, at_ms + 1, "alter-topic", asked, answer=answer, key=topic)


def found(recording: AdminStory) -> list[Anomaly]:
    return [anomaly for anomaly in check_metadata(recording.history()).anomalies if anomaly.id == ANOMALY]


def test_a_removed_config_blocks_changes_of_others() -> None:
    recording = AdminStory()
    alter(recording, 8, OTHER)
    alter(recording, 10, REMOVED, topic="log-1")
    alter(recording, 12, REMOVED)
    for at_ms in (20, 30):
        alter(recording, at_ms, OTHER, REFUSAL)
    (anomaly,) = found(recording)
    assert (anomaly.subject, anomaly.illegal) == (TOPIC, True)
    assert anomaly.summary == (
        f"{OTHER} of {TOPIC} could not be changed: Kafka refused the request because of {REMOVED}, which is "
        "not in the request."
    )
    assert anomaly.explanation[0] == f"{REMOVED} was set at 0.0 s; Kafka accepted it."
    operations = recording.history().operations
    asked = [(operations[index].value["config"], str(operations[index].type)) for index in anomaly.witness]
    assert asked == [(REMOVED, "invoke"), (REMOVED, "ok"), (OTHER, "invoke"), (OTHER, "ok")]
    assert check_metadata(recording.history()).validity == "invalid"


def test_where_it_was_set_by_nobody_in_the_history_the_proof_leaves_that_out() -> None:
    recording = AdminStory()
    recording.both(1, None, "alter-topic", {"config": REMOVED, "value": "1"}, key=TOPIC)
    recording.both(2, 3, "alter-topic", {"config": REMOVED, "value": "1"}, key=TOPIC, how="info")
    alter(recording, 20, OTHER, REFUSAL)
    (anomaly,) = found(recording)
    assert len(anomaly.witness) == 2
    assert len(anomaly.explanation) == 3


@pytest.mark.parametrize(
    ("config", "message", "code"),
    [
        pytest.param(REMOVED, REFUSAL, 40, id="the removed config itself"),
        pytest.param(OTHER, "Unknown topic config name: new.config", 40, id="one that a downgrade left"),
        pytest.param(OTHER, "Invalid value 0 for configuration max.message.bytes", 40, id="a wrong value"),
        pytest.param(OTHER, None, 40, id="no reason"),
        pytest.param(OTHER, REFUSAL, 44, id="another error"),
        pytest.param(OTHER, None, 0, id="accepted"),
    ],
)
def test_other_answers(config: str, message: str | None, code: int) -> None:
    recording = AdminStory()
    alter(recording, 20, config, message, code=code)
    assert found(recording) == []
