"""The operator: sends admin operations to Kafka, one request each, and records their outcome."""

import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from checkers.history.operations import OperationType
from checkers.history.requested import completed
from harness.administration.settings import alter_broker
from harness.administration.throttles import Throttle, remove_throttle
from harness.kafka.sizes import TopicSizes
from harness.kafka.snapshot import ClusterSnapshot
from harness.kafka.wire import WireError
from harness.nemesis.admin_requests import AdminRequests, NoTargetError, PreparedRequest
from harness.nemesis.administered import Administered
from harness.nemesis.drawing import drawn
from harness.record.journal import Recorder
from harness.vocabulary.administration import (
    AddPartitions,
    AdminOperation,
    AlterBroker,
    CancelSome,
    Concrete,
    Drawn,
    ReassignSome,
)


class Performed(NamedTuple):
    """The outcome of an operation, and Kafka's error codes: one code, or one for each part."""

    outcome: OperationType
    codes: tuple[int, ...] = ()
    error: str | None = None


class Operator:
    """One process of the history.

    Args:
        cluster: the cluster that receives the requests.
        recorder: writes as the process ``admin``, or as ``admin-2`` and so on.
        look: takes a snapshot of the cluster.
        sizes: gets the partitions whose addition was acknowledged.
    """

    def __init__(
        self,
        cluster: Administered,
        recorder: Recorder,
        look: Callable[[], ClusterSnapshot],
        sizes: TopicSizes | None = None,
    ) -> None:
        self._asking = AdminRequests(cluster, look)
        self._recorder = recorder
        self._look = look
        self._sizes = TopicSizes() if sizes is None else sizes
        self._altered: dict[tuple[int, str], None] = {}

    def perform(self, operation: AdminOperation, timeout_ms: int) -> Performed:
        """Request an operation once; a symbolic operation is resolved first.

        Raises:
            LookupError: the operation names a node that the topology does not have.
            JournalError: the operation could not be recorded.
        """
        snapshot = self._look()
        if isinstance(operation, ReassignSome | CancelSome):
            snapshot = self._asking.with_ongoing_reassignments(snapshot, timeout_ms)
        concrete = drawn(operation, snapshot) if isinstance(operation, Drawn) else operation
        if concrete is None:
            return Performed(OperationType.FAIL, error="there is nothing to request")
        try:
            asked = self._asking.prepare(concrete, snapshot)
        except NoTargetError as error:
            return Performed(OperationType.FAIL, error=str(error))
        performed = self._record(concrete, asked, timeout_ms)
        if isinstance(concrete, AlterBroker) and performed.outcome is not OperationType.FAIL:
            self._altered[int(asked.key or 0), concrete.config] = None
        if isinstance(concrete, AddPartitions) and performed.outcome is OperationType.OK:
            self._sizes.grew(str(asked.key), concrete.count)
        return performed

    def remove_throttles(self) -> None:
        """Remove the throttles that were set for reassignments.

        Raises:
            WireError: no broker answers, or one refuses.
        """
        throttles: list[Throttle] = self._asking.throttles
        while throttles:
            address = self._asking.address_of(self._asking.answering(self._look()))
            silent = remove_throttle(address, throttles[-1])
            if silent:
                ids = ", ".join(map(str, silent))
                raise WireError(f"brokers {ids} did not answer, so their throttles are still set")
            throttles.pop()

    def remove_broker_configs(self) -> None:
        """Remove the configs that single brokers were given, at every broker that answers.

        Raises:
            WireError: some are left, because their brokers do not answer, or refuse.
        """
        left = []
        for broker, config in tuple(self._altered):
            try:
                self._remove_broker_config(broker, config)
            except WireError as error:
                left.append(error)
        if left:
            raise left[0]

    def _remove_broker_config(self, broker: int, config: str) -> None:
        address = self._asking.address_of(self._asking.itself(self._look().by_id[broker]))
        answer = alter_broker(address, broker, config, None)
        if answer.code:
            raise WireError(f"{config} of broker {broker} is still set: Kafka answered {answer.code}")
        del self._altered[broker, config]

    def _record(self, operation: Concrete, asked: PreparedRequest, timeout_ms: int) -> Performed:
        began = time.monotonic()
        with self._recorder.operation(_function(operation), asked.key, asked.value, node=asked.to) as outcome:
            try:
                answer = self._asking.ask(asked, timeout_ms)
            except WireError as error:
                kind = OperationType.FAIL if isinstance(error, NoTargetError) else OperationType.INFO
                outcome.end(kind, asked.value, str(error))
                return Performed(kind, error=str(error))
            took_ms = int((time.monotonic() - began) * 1000)
            value = completed(asked.value, msgspec.structs.replace(answer.content, took_ms=took_ms))
            failed = None if answer.outcome is OperationType.OK else f"Kafka answered {answer.codes[0]}"
            outcome.end(answer.outcome, value, failed)
        return Performed(answer.outcome, answer.codes, failed)


_FUNCTIONS = {"reassign": "alter-reassignments", "add-partitions": "create-partitions"}
"""Kafka's names of operations that have other names in the vocabulary."""


def _function(operation: Concrete) -> str:
    kind: str = msgspec.to_builtins(operation)["kind"]
    return _FUNCTIONS.get(kind, kind)
