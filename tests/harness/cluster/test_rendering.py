"""What is written for a cluster: properties and compose files, by version and mode."""

import re

import msgspec
import pytest
import yaml

from harness.cluster.rendering import (
    format_arguments,
    kafka_uuid,
    new_layout,
    problems_with,
    render_compose,
    render_properties,
)
from harness.vocabulary import Mode, NodeFile, Quorum, Topology
from harness.vocabulary.version import VersionShapeError, parse_version

ISOLATED = Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, quorum=Quorum.STATIC)


def properties(topology: Topology, position: int, version: str) -> dict[str, str]:
    layout = new_layout("abc", "10.213.4.0/24", topology)
    text = render_properties(topology, layout, topology.nodes()[position], version)
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def test_a_combined_node_has_all_listeners_and_advertises_its_controller_when_dynamic() -> None:
    written = properties(Topology(), 0, "4.3.1")

    assert written["process.roles"] == "broker,controller"
    assert set(re.findall(r"([A-Z]+)://", written["listeners"])) == {
        "CLIENT",
        "REPLICATION",
        "OBSERVE",
        "CONTROLLER",
    }
    assert "CONTROLLER://10.213.4.11:9093" in written["advertised.listeners"]
    assert written["controller.quorum.bootstrap.servers"].count(":9093") == 3
    assert "controller.quorum.voters" not in written


@pytest.mark.parametrize("version", ["3.6.2", "3.8.1", "4.3.1"])
def test_a_static_quorum_names_its_voters_and_advertises_no_controller(version: str) -> None:
    controller, broker = properties(ISOLATED, 0, version), properties(ISOLATED, 3, version)

    assert controller["controller.quorum.voters"] == (
        "101@10.213.4.11:9093,102@10.213.4.12:9093,103@10.213.4.13:9093"
    )
    assert "advertised.listeners" not in controller
    assert "inter.broker.listener.name" not in controller
    assert "CONTROLLER" not in broker["advertised.listeners"]
    assert broker["listeners"].startswith("CLIENT://10.213.4.14:9092")


def test_overrides_beat_defaults() -> None:
    written = properties(Topology(config={"broker.session.timeout.ms": "9000"}), 0, "4.3.1")

    assert written["broker.session.timeout.ms"] == "9000"


def test_storage_is_formatted_as_the_quorum_needs() -> None:
    dynamic = Topology(mode=Mode.ISOLATED, controllers=1, brokers=1, features={"b": 2, "a": 1})
    layout = new_layout("abc", "10.213.4.0/24", dynamic)
    controller, broker = (format_arguments(dynamic, layout, node) for node in dynamic.nodes())

    assert controller[:2] == ["--initial-controllers", f"101@10.213.4.11:9093:{layout.directory_ids['c1']}"]
    assert broker[0] == "--no-initial-controllers"
    assert controller[2:] == ["--feature", "a=1", "--feature", "b=2"]
    static = new_layout("abc", "10.213.4.0/24", ISOLATED)
    assert format_arguments(ISOLATED, static, ISOLATED.nodes()[0]) == []


def arguments(topology: Topology) -> list[str]:
    """What each node is formatted with, the voters' endpoints left out."""
    layout = new_layout("abc", "10.213.4.0/24", topology)
    return [
        re.sub(r"@[^,]*", "", " ".join(format_arguments(topology, layout, node))) for node in topology.nodes()
    ]


def test_some_controllers_begin_as_observers() -> None:
    growing = Topology(mode=Mode.ISOLATED, controllers=4, brokers=1, initial_voters=2)
    voters = "--initial-controllers 101,102"
    newcomer = "--no-initial-controllers"
    assert arguments(growing) == [voters, voters, newcomer, newcomer, newcomer]
    written = properties(growing, 3, "4.3.1")["controller.quorum.bootstrap.servers"]
    assert written.count(":9093") == 4

    alone = Topology(standalone=True)
    assert arguments(alone) == ["--standalone", newcomer, newcomer]
    assert [node.name for node in alone.voters()] == ["n1"]


def test_each_log_directory_lies_on_a_disk_of_its_own() -> None:
    topology = Topology(log_dirs=2)
    assert properties(topology, 0, "4.3.1")["log.dirs"] == "/var/lib/kafka/data,/var/lib/kafka/data-2"
    layout = new_layout("abc", "10.213.4.0/24", topology)
    images = dict.fromkeys(("n1", "n2", "n3"), "kafka")
    text = render_compose(
        topology, layout, kafka_images=images, holder_image="h", user="0:0", labels={"a": "b"}
    )
    assert {"./disks/n1:/var/lib/kafka/data", "./disks/n1-2:/var/lib/kafka/data-2"} < set(
        yaml.safe_load(text)["services"]["n1"]["volumes"]
    )


def test_a_node_may_differ_from_the_others() -> None:
    topology = Topology(config={"a": "1"}, node_config={"n2": {"a": "2"}}, node_versions={"n2": "4.1.1"})
    assert [properties(topology, position, "4.3.1")["a"] for position in (0, 1, 2)] == ["1", "2", "1"]
    assert [topology.version_of(name, "4.3.1") for name in ("n1", "n2")] == ["4.3.1", "4.1.1"]
    assert msgspec.json.decode(msgspec.json.encode(topology), type=Topology) == topology
    assert msgspec.json.decode(b"{}", type=Topology) == Topology()


def test_nodes_may_begin_with_another_version_than_the_runs() -> None:
    topology = Topology(start_version="3.9.0", node_versions={"n2": "4.1.1"})
    assert topology.first_versions("4.3.1") == {"n1": "3.9.0", "n2": "4.1.1", "n3": "3.9.0"}
    assert Topology().first_versions("4.3.1") == dict.fromkeys(("n1", "n2", "n3"), "4.3.1")


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        (Topology(initial_voters=4), "initial_voters is 4, expected 1 to 3"),
        (Topology(initial_voters=0), "initial_voters is 0, expected 1 to 3"),
        (Topology(initial_voters=1, standalone=True), "a standalone quorum has one voter"),
        (Topology(standalone=True, quorum=Quorum.STATIC), "all controllers vote in a static quorum"),
        (Topology(log_dirs=0), "log_dirs is 0, expected 1 to 4"),
        (Topology(node_config={"c1": {}}), "node_config names c1, there are n1, n2, n3"),
        (Topology(node_versions={"n1": "3.8.1"}), "Kafka 3.8.1 has no dynamic quorum"),
        (Topology(start_version="3.8.1"), "Kafka 3.8.1 has no dynamic quorum"),
    ],
)
def test_what_can_not_be_is_reported(topology: Topology, expected: str) -> None:
    (problem,) = problems_with(topology, "4.3.1")
    assert problem.startswith(expected)


def test_the_compose_file_has_two_containers_a_node_and_our_labels() -> None:
    topology = Topology(jvm_options=("-Dprice=$5",), node_files=(NodeFile("/a", "/b"),))
    layout = new_layout("abc", "10.213.4.0/24", topology)
    labels = {"krucible.run": "abc"}
    images = {"n1": "kafka:1", "n2": "kafka:2", "n3": "kafka:1"}
    text = render_compose(
        topology, layout, kafka_images=images, holder_image="base:1", user="7:8", labels=labels
    )
    compose = yaml.safe_load(text)

    assert set(compose["services"]) == {f"n{i}{part}" for i in (1, 2, 3) for part in ("", "-net")}
    kafka, holder = compose["services"]["n2"], compose["services"]["n2-net"]
    assert kafka["network_mode"] == "service:n2-net"
    assert kafka["user"] == "7:8"
    assert kafka["image"] == "kafka:2"
    assert "./nodes/n2:/etc/krucible:ro" in kafka["volumes"]
    assert kafka["environment"]["KRUCIBLE_JVM_OPTS"] == "-Dprice=$$5"
    assert "/a:/b:ro" in kafka["volumes"]
    assert holder["networks"]["cluster"]["ipv4_address"] == "10.213.4.12"
    assert compose["networks"]["cluster"]["internal"] is True
    for thing in (kafka, holder, compose["networks"]["cluster"]):
        assert thing["labels"]["krucible.run"] == "abc"


def test_ids_are_never_taken_for_options() -> None:
    drawn = {kafka_uuid() for _ in range(2000)}

    assert len(drawn) == 2000
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", text) for text in drawn)


def test_what_a_version_cannot_do_is_reported() -> None:
    assert problems_with(Topology(), "3.8.1")
    assert not problems_with(Topology(), "3.9.0")


def test_versions_compare_as_numbers() -> None:
    assert parse_version("3.10.0") > parse_version("3.9.1-rc1")
    with pytest.raises(VersionShapeError, match=r"4\.3\.1"):
        parse_version("4.3")


def test_no_default_of_the_engine_cuts_a_nodes_log() -> None:
    topology = Topology(brokers=3)
    text = render_compose(
        topology,
        new_layout("r", "10.0.0.0/24", topology),
        kafka_images=dict.fromkeys([node.name for node in topology.nodes()], "kafka"),
        holder_image="holder",
        user="1:1",
        labels={"krucible.run": "r"},
    )
    logging = yaml.safe_load(text)["services"]["n2"]["logging"]
    assert logging["driver"] == "json-file"
    assert logging["options"] == {
        "max-size": "1000g",
        "max-file": "1",
        "compress": "false",
        "mode": "blocking",
    }


def test_a_dollar_sign_is_one_to_compose() -> None:
    topology = Topology(node_files=(NodeFile("/srv/$HOME/agent.jar", "/opt/agent.jar"),))
    layout = new_layout("abc", "10.213.4.0/24", topology)
    written = yaml.safe_load(
        render_compose(
            topology,
            layout,
            kafka_images=dict.fromkeys(("n1", "n2", "n3"), "kafka"),
            holder_image="holder",
            user="0:0",
            labels={"krucible.folder": '/srv/$HOME\'s "runs"'},
        )
    )

    node = written["services"]["n1"]
    assert node["labels"]["krucible.folder"] == '/srv/$$HOME\'s "runs"'
    assert "/srv/$$HOME/agent.jar:/opt/agent.jar:ro" in node["volumes"]
