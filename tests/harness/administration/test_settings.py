"""Partitions are asked for of one broker, once, with its own words in the answer."""

from harness.administration.settings import (
    add_partitions,
    alter_broker,
    alter_brokers,
    alter_group,
    alter_topic,
)
from tests.harness.fakes.moving import FakeMoving
from tests.harness.workloads.test_workload_registers import FakeBrokerOfTopics


def test_new_partitions_are_requested_and_the_answer_is_reported() -> None:
    with FakeBrokerOfTopics() as broker:
        broker.refusals = [37]
        codes = [add_partitions(broker.address, "t", 8, 500).code for _ in range(2)]
    assert codes == [37, 0]


def test_configs_of_topics_all_brokers_and_groups_are_set() -> None:
    with FakeMoving() as broker:
        assert alter_topic(broker.address, "t", "flush.ms", "8").code == 0
        assert alter_brokers(broker.address, "log.flush.interval.ms", "9").code == 0
        assert alter_group(broker.address, "g", "share.auto.offset.reset", "latest").code == 0
        assert broker.configs == {
            (2, "t"): {"flush.ms": "8"},
            (4, ""): {"log.flush.interval.ms": "9"},
            (32, "g"): {"share.auto.offset.reset": "latest"},
        }


def test_a_config_of_one_broker_is_set_and_removed() -> None:
    with FakeMoving() as broker:
        assert alter_broker(broker.address, 3, "cordoned.log.dirs", "*").code == 0
        assert broker.configs == {(4, "3"): {"cordoned.log.dirs": "*"}}
        assert alter_broker(broker.address, 3, "cordoned.log.dirs", None).code == 0
        assert not broker.configs.get((4, "3"))
