"""Where leader epochs begin, as Kafka 4.3.1 and others word it."""

import pytest

from checkers.history.logged import EpochBegun
from harness.evidence.epochs_begun import begun_epochs

AT = "2026-11-23T13:15:48.127Z INFO "
BEGUN = AT + (
    "[kafka-3-metadata-loader-event-handler] [Broker id=3] Leader log-0-4 with topic id {} starts at leader"
    " epoch 5 from offset 737 with partition epoch 11, high watermark 736, ISR [1,3], adding replicas [] and"
    " removing replicas [] . Previous leader Some(2) and previous leader epoch was {}. (state.change.logger)"
)
FOLLOWER = AT + (
    "[kafka-1-metadata-loader-event-handler] [Broker id=1] Follower log-0-4 starts at leader epoch 5 from"
    " offset 737 with partition epoch 11 and high watermark 736. Current leader is 3. Previous leader Some(2)"
    " and previous leader epoch was 4. (state.change.logger)"
)


@pytest.mark.parametrize("printed_id", ["Some(chF0WpWT-_g)", "Optional[chF0WpWT-_g]", "chF0WpWT-_g"])
@pytest.mark.parametrize("previous", [4, -1])
def test_where_a_leader_begins_its_epoch(printed_id: str, previous: int) -> None:
    at = "2026-11-23T13:15:48.127Z"
    lines = ["a line that says nothing", FOLLOWER, BEGUN.format(printed_id, previous)]
    assert list(begun_epochs("\n".join(lines))) == [
        EpochBegun(3, at, "log-0", "chF0WpWT-_g", 4, 5, 737, previous)
    ]
