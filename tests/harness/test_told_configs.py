"""What brokers tell of topics' configs at the end, read into the history."""

from pathlib import Path
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse

from checkers.reading import read_history
from harness.journal import Clock, Journals, Recorder
from harness.told_configs import gather_configs
from tests.harness.fake_node import FakeNode

_DESCRIBE_CONFIGS = 32


class _Broker(FakeNode):
    """Has one topic, with one config of its own and one by default; knows no other."""

    def __init__(self) -> None:
        super().__init__()
        self.versions |= {_DESCRIBE_CONFIGS: 4}
        self.requests |= {_DESCRIBE_CONFIGS: DescribeConfigsRequest}
        self.answers |= {_DESCRIBE_CONFIGS: self._configs}

    def _configs(self, request: Any) -> Any:
        one = DescribeConfigsResponse.DescribeConfigsResult
        own = one.DescribeConfigsResourceResult(name="segment.ms", value="500", config_source=1)
        default = one.DescribeConfigsResourceResult(name="flush.ms", value="9", config_source=5)
        results = [
            one(
                error_code=0 if asked.resource_name == "log-0" else 3,
                error_message=None,
                resource_type=2,
                resource_name=asked.resource_name,
                configs=[own, default] if asked.resource_name == "log-0" else [],
            )
            for asked in request.resources
        ]
        return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def test_configs_that_topics_were_given_are_recorded_of_each_broker_that_answers(tmp_path: Path) -> None:
    journals = Journals(tmp_path, "run", Clock())
    with _Broker() as broker:
        listeners = {"n1": broker.address, "n2": ("127.0.0.1", 1)}
        gather_configs(Recorder(journals.open("runner"), "runner"), listeners, ["log-0", "gone"])
    journals.close()
    (told,) = read_history(tmp_path).observed("topic-configs")
    assert told.node == "n1"
    assert told.value["topics"] == {"log-0": {"segment.ms": "500"}}
