"""The contract of a fault: a probe confirms that it took effect, and that it is gone after the heal."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from harness.cluster.containers import NodeContainers
from harness.cluster.homes import NodeHome
from harness.faults.cuts import Pair
from harness.record.ledger import Undo
from harness.vocabulary.topology import Node


class Bench(msgspec.Struct, frozen=True):
    """The objects that a fault changes.

    Attributes:
        nodes: all nodes of the cluster.
        containers: node name to its containers.
        addresses: node name to its address.
        homes: node name to its files on the host.
        images: references of Kafka's images, by version.
        version: the run's version of Kafka.
        proven_within_s: how long the proof of a fault may take, if this is less than usual; None: the fault
            decides.
    """

    nodes: tuple[Node, ...]
    containers: Mapping[str, NodeContainers]
    addresses: Mapping[str, str]
    homes: Mapping[str, NodeHome]
    images: Mapping[str, str] = {}
    version: str = ""
    proven_within_s: float | None = None

    def bound_s(self, usual_s: float) -> float:
        """How long the proof of a fault may take, given its usual limit."""
        return usual_s if self.proven_within_s is None else min(usual_s, self.proven_within_s)


class NotConfirmedError(Exception):
    """The probe did not see what the fault (or its heal) should have caused."""


class ActiveFault(Protocol):
    """A fault with resolved targets; it is called in the order inject, took_effect, heal, healed."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the nodes that it affects."""

    @property
    def cut(self) -> tuple[Pair, ...]:
        """Directed pairs it cuts; empty unless it is a partition (packet loss cuts no node off)."""

    @property
    def undo(self) -> tuple[Undo, ...]:
        """Steps that undo the fault; they are written to the ledger before it is injected."""

    def inject(self) -> None:
        """Inject the fault.

        Raises:
            NotRunningError: the target's process had ended by itself; nothing was done.
        """

    def took_effect(self) -> dict[str, object]:
        """Prove that the fault took effect; returns the observations of the probe.

        Raises:
            NotConfirmedError: if it did not take effect within the probe's bound.
        """

    def heal(self) -> None:
        """Undo the fault; may be called twice."""

    def healed(self) -> dict[str, object]:
        """Prove that the fault is over; returns the observations of the probe.

        Raises:
            NotConfirmedError: if it is still in force after the probe's bound.
        """
