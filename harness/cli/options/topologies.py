"""Options for the topology of a cluster."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import click
import msgspec

from harness.cli.options.origins import image_options
from harness.cli.options.shared import FeatureLevel, Mount, Pair, VocabularyChoice, WholeNumber
from harness.cli.options.structs import gathered
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.topologies import topology_of
from harness.vocabulary.topology import Mode, NodeFile, Quorum, Topology
from harness.vocabulary.version import DEFAULT_VERSION

P = ParamSpec("P")
R = TypeVar("R")


class TopologyChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options for the topology of a cluster; None means that the scenario decides."""

    mode: Mode | None
    controllers: int | None
    brokers: int | None
    quorum: Quorum | None
    feature: tuple[tuple[str, int], ...]
    config: tuple[tuple[str, str], ...]
    jvm_option: tuple[str, ...]
    node_file: tuple[NodeFile, ...]

    def applied_to(self, topology: Topology, version: str) -> Topology:
        """Return a topology with the values that were given."""
        return topology_of(
            topology,
            version,
            mode=self.mode,
            controllers=self.controllers,
            brokers=self.brokers,
            quorum=self.quorum,
            feature=dict(self.feature),
            config=dict(self.config),
            jvm_option=self.jvm_option,
            node_file=self.node_file,
        )


_OPTIONS = (
    click.option(
        "--kafka-version",
        metavar="V",
        help=f"Kafka's version; {DEFAULT_VERSION} unless given here or by the scenario.",
    ),
    click.option(
        "--mode",
        type=VocabularyChoice(list(Mode)),
        help="Whether each node is broker and controller (combined) or one of them (isolated).",
    ),
    click.option("--controllers", type=WholeNumber(1, 5), help="How many controllers."),
    click.option("--brokers", type=WholeNumber(1, 5), help="How many brokers."),
    click.option(
        "--quorum",
        type=VocabularyChoice(list(Quorum)),
        help="Where the voters are: configuration (static) or metadata log (dynamic).",
    ),
    click.option(
        "--feature",
        type=FeatureLevel(),
        multiple=True,
        help="Feature level of the new cluster; repeatable.",
    ),
    click.option(
        "--config",
        type=Pair(),
        multiple=True,
        help="Kafka property of every node, as in server.properties; repeatable.",
    ),
    click.option(
        "--jvm-option",
        envvar="KRUCIBLE_JVM_OPTIONS",
        show_envvar=True,
        multiple=True,
        metavar="OPT",
        help="Option of every node's JVM, such as -Xmx1g; repeatable.",
    ),
    click.option(
        "--node-file",
        type=Mount(),
        multiple=True,
        help="Mount SRC, a file of this host, as DST into every node; repeatable.",
    ),
)


def topology_options(
    function: Callable[Concatenate[KafkaChoice, TopologyChoice, P], R],
) -> Callable[P, R]:
    """Add the options for Kafka and the topology; the command receives them as two structs."""
    command = gathered(TopologyChoice)(image_options(function))
    for choice in reversed(_OPTIONS):
        command = choice(command)
    return command
