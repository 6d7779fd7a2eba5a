"""The configs of a group, as one broker reports them."""

import pytest

from harness.kafka.wire import WireError
from harness.workloads.shares import configs_at
from tests.harness.fakes.configs import ConfigBroker


def test_a_broker_reports_configs_that_were_set_and_those_by_default() -> None:
    with ConfigBroker({"share.isolation.level": "read_committed"}, ["share-0"]) as broker:
        assert configs_at(broker.address, "share-0") == {
            "share.isolation.level": "read_committed",
            "flush.ms": "9",
        }


def test_an_error_in_the_answer_is_no_answer() -> None:
    with ConfigBroker({}) as broker, pytest.raises(WireError, match="DescribeConfigs of share-0 answered 3"):
        configs_at(broker.address, "share-0")


def test_a_broker_that_does_not_listen_does_not_answer() -> None:
    with pytest.raises(WireError):
        configs_at(("127.0.0.1", 1), "share-0")
