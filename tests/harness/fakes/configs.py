"""A broker that describes its topics' configs."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse
from kafka.protocol.metadata import MetadataResponse

from tests.harness.fakes.node import METADATA, FakeNode

_DESCRIBE_CONFIGS = 32


class ConfigBroker(FakeNode):
    """Has ``log-0``, with configs of its own and one by default, and further topics with the same ones.

    As Kafka does, it reports a config that it does not know without its value, None.
    """

    def __init__(self, own: Mapping[str, str | None], listed: Sequence[str] = ()) -> None:
        super().__init__()
        self.own = dict(own)
        self.topics = ("log-0", *listed)
        self.versions |= {_DESCRIBE_CONFIGS: 4}
        self.requests |= {_DESCRIBE_CONFIGS: DescribeConfigsRequest}
        self.answers |= {_DESCRIBE_CONFIGS: self._configs, METADATA: self._metadata}

    def _metadata(self, _request: Any) -> Any:
        one = MetadataResponse.MetadataResponseTopic
        topics = [
            one(error_code=0, name=name, topic_id=None, is_internal=False, partitions=[])
            for name in self.topics
        ]
        return MetadataResponse(
            throttle_time_ms=0, brokers=[], cluster_id="cluster", controller_id=1, topics=topics
        )

    def _configs(self, request: Any) -> Any:
        one = DescribeConfigsResponse.DescribeConfigsResult
        entry = one.DescribeConfigsResourceResult
        own = [entry(name=name, value=value, config_source=1) for name, value in self.own.items()]
        default = entry(name="flush.ms", value="9", config_source=5)
        results = [
            one(
                error_code=0 if asked.resource_name in self.topics else 3,
                error_message=None,
                resource_type=2,
                resource_name=asked.resource_name,
                configs=[*own, default] if asked.resource_name in self.topics else [],
            )
            for asked in request.resources
        ]
        return DescribeConfigsResponse(throttle_time_ms=0, results=results)
