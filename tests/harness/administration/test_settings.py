"""Partitions are asked for of one broker, once, with its own words in the answer."""

from harness.administration.settings import add_partitions
from tests.harness.workloads.test_workload_registers import FakeBrokerOfTopics


def test_partitions_are_asked_for_and_the_answer_is_told() -> None:
    with FakeBrokerOfTopics() as broker:
        broker.refusals = [37]
        codes = [add_partitions(broker.address, "t", 8, 500).code for _ in range(2)]
    assert codes == [37, 0]
