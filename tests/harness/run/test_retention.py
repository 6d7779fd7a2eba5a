"""Nothing is removed for its age any more once everything is to be read."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkers.history.operations import OperationType
from harness.nemesis.operator import Performed
from harness.run.execution import Execution
from harness.run.retention import end_retention, limits_of
from harness.vocabulary import CompactedWorkload, LogWorkload
from harness.vocabulary.administration import AlterTopic
from tests.harness.fakes.configs import ConfigBroker

LIMITS = (("log-0", "retention.ms"),)


class Operator:
    """Alters the configs of some brokers; those at first are refused."""

    def __init__(self, *brokers: ConfigBroker, refused: int = 0) -> None:
        self.brokers = brokers
        self.refused = refused
        self.asked: list[AlterTopic] = []

    def perform(self, operation: AlterTopic, timeout_ms: int) -> Performed:
        assert timeout_ms > 0
        self.asked.append(operation)
        if len(self.asked) <= self.refused:
            return Performed(OperationType.INFO, error="no answer")
        for broker in self.brokers:
            broker.own[operation.config] = operation.value
        return Performed(OperationType.OK, (0,))


def test_a_limit_is_what_a_topic_has_of_its_own() -> None:
    config = {"retention.ms": "9", "retention.bytes": "-1", "segment.ms": "5"}
    assert limits_of(LogWorkload(config=config).topics) == LIMITS
    assert limits_of(LogWorkload().topics) == limits_of(CompactedWorkload().topics) == ()


def test_retention_ends_once_every_broker_that_answers_reports_so() -> None:
    with ConfigBroker({"retention.ms": "9"}) as one, ConfigBroker({"retention.ms": "9"}) as other:
        operator = Operator(one, other, refused=1)
        brokers = [one.address, other.address, ("127.0.0.1", 1)]
        assert not list(end_retention(operator, brokers, LIMITS, 20.0))
    assert operator.asked == [AlterTopic(topic="log-0", config="retention.ms", value="-1")] * 2


def test_a_broker_that_keeps_a_limit_is_reported() -> None:
    with ConfigBroker({}) as one, ConfigBroker({"retention.ms": "9"}) as other:
        reports = list(end_retention(Operator(one), [one.address, other.address], LIMITS, 0.3))
    assert reports == ["retention.ms of log-0 is still reported by 1 of 2 brokers"]


def crew_of(config: dict[str, str], broker: ConfigBroker) -> Execution:
    execution: Any = Execution.__new__(Execution)
    cluster = SimpleNamespace(observe_listeners={"b1": broker.address, "b2": ("nowhere", 1)}, ended={"b2"})
    plan = SimpleNamespace(scenario=SimpleNamespace(workload=LogWorkload(config=config)))
    execution._stage = SimpleNamespace(plan=plan, cluster=cluster)
    execution._new_operator = lambda: Operator(broker)
    return cast("Execution", execution)


@pytest.mark.parametrize("config", [{"retention.ms": "9"}, {}])
def test_the_crew_ends_the_retention_of_the_topics_that_it_loads(config: dict[str, str]) -> None:
    with ConfigBroker({"retention.ms": "9"}) as broker:
        assert not list(crew_of(config, broker).end_retention())
        assert broker.own == {"retention.ms": "-1" if config else "9"}
