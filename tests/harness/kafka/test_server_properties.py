"""Which names are properties of a node, by version of Kafka, and which one a mistyped name is near."""

import re
from pathlib import Path

import pytest

from harness.kafka.server_properties import unknown_property
from harness.plan.catalogue import known_outcomes, load_scenario, scenario_names
from harness.vocabulary.version import DEFAULT_VERSION


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("min.insync.replica", "min.insync.replicas"),
        ("min.insync.replcias", "min.insync.replicas"),
        ("retention.ms", "log.retention.ms"),
        ("unclean.leader.election.enabled", "unclean.leader.election.enable"),
        ("Num.Partitions", "num.partitions"),
    ],
)
def test_a_mistyped_name_is_near_the_right_one(name: str, near: str) -> None:
    found = unknown_property(name, "4.3.1")
    assert found is not None
    assert (found.near, found.certain) == (near, True)


@pytest.mark.parametrize(
    "name",
    [
        "min.insync.replicas",
        "unstable.feature.versions.enable",
        "listener.name.client.ssl.keystore.location",
        "config.providers.file.class",
        "rsm.config.dir",
    ],
)
@pytest.mark.parametrize("version", ["4.3.1", "4.9.0"])
def test_what_kafka_reads_or_passes_on_is_known(name: str, version: str) -> None:
    assert unknown_property(name, version) is None


def test_a_version_has_only_its_own_properties() -> None:
    assert unknown_property("zookeeper.connect", "3.9.0") is None
    gone = unknown_property("zookeeper.connect", "4.3.1")
    assert gone is not None
    assert (gone.versions, gone.listed) == (("3.5.2", "3.9.0"), ("3.5.2", "4.4.0"))


def test_of_a_version_that_is_not_listed_only_near_names_are_unknown() -> None:
    assert unknown_property("zookeeper.connect", "4.2.0") is None
    assert unknown_property("some.plugin.key", "4.9.0") is None
    assert unknown_property("some.plugin.key", "4.3.1") is not None
    mistyped = unknown_property("min.insync.replica", "4.9.0")
    assert mistyped is not None
    assert (mistyped.near, mistyped.certain) == ("min.insync.replicas", False)


def test_every_property_that_krucible_sets_is_known() -> None:
    scenarios = {name: load_scenario(name) for name in scenario_names()}
    given = [
        (name, scenario.kafka_version)
        for scenario in scenarios.values()
        for properties in (scenario.topology.config, *scenario.topology.node_config.values())
        for name in properties
    ]
    given += [
        (name, side.version) for known in known_outcomes() for side in known.sides for name in side.config
    ]
    template = (Path(__file__).parents[3] / "compose/server.properties.j2").read_text()
    given += [(name, DEFAULT_VERSION) for name in re.findall(r"^([a-z][a-z0-9.]+)=", template, re.MULTILINE)]
    assert len(given) > 20
    assert [one for one in given if unknown_property(*one)] == []
