"""The part of a cluster that operators of admin requests need."""

from collections.abc import Mapping
from typing import Protocol

from harness.cluster.homes import NodeHome
from harness.vocabulary.topology import Node

Address = tuple[str, int]


class Administered(Protocol):
    """The part of a cluster that operators need."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the cluster."""
        ...

    @property
    def cluster_id(self) -> str:
        """Kafka's id of the cluster."""
        ...

    @property
    def controller_listeners(self) -> Mapping[str, Address]:
        """Controller name to its CONTROLLER listener."""
        ...

    @property
    def observe_listeners(self) -> Mapping[str, Address]:
        """Broker name to its OBSERVE listener."""
        ...

    def home(self, node: Node) -> NodeHome:
        """The node's files on the host."""
        ...
