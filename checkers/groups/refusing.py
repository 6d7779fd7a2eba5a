"""A group with static members is never too full for one of them.

A static member (KIP-345) has a fixed instance id, and a group has at most one member with each instance id.
If a group has static members only, with no more instance ids than ``group.consumer.max.size`` permits, then
every member that joins either finds room or replaces the former member with its instance id.  A coordinator
that compares the member's new id with the group's size refuses it until the former member's session has
expired (KAFKA-20601).

The properties of nodes may change in the course of a run (``configure``).  The smallest limit that was set at
any time counts.

A loss of the coordinator's records does not explain a refusal: no record can name more instance ids.
"""

from collections.abc import Iterator

import msgspec

from checkers.groups.anomalies import STATIC_REFUSED
from checkers.history.error_codes import ErrorCode
from checkers.history.operations import INFO, History, Operation
from checkers.history.requested import NodeConfigured
from checkers.history.setup import Setup, recorded_setup
from checkers.verdict.verdict import Anomaly

MAX_SIZE = "group.consumer.max.size"
"""How many members a group of KIP-848's protocol may have."""
_UNLIMITED = 2**31 - 1
_REFUSALS = (ErrorCode.GROUP_MAX_SIZE_REACHED.name, "Consumer group has reached maximum size")
"""How libraries report the error: by Kafka's name of it, and by librdkafka's text of a fatal error."""


def find_refused(history: History, group: str) -> Iterator[Anomaly]:
    """Polls of a group's members that failed because the group was full; one finding for each member.

    A member whose poll failed continues as another process, which is counted as the same member.

    Nothing is found in groups that may have dynamic members, or more instance ids than permitted.

    Raises:
        ValueError: the set-up or a ``configure`` has a ``group.consumer.max.size`` that is not a number.
        msgspec.ValidationError: the set-up or a ``configure`` is not as docs/histories.md says.
    """
    setup = recorded_setup(history)
    if not _fits(history, setup, group):
        return
    found: dict[int | str, list[Operation]] = {}
    for operation in history.of("poll"):
        if operation.type is INFO and _is_refusal(operation) and operation.value.get("group") == group:
            found.setdefault(_worker(operation.process, setup.workload.workers), []).append(operation)
    for refused in found.values():
        first, last = refused[0], refused[-1]
        times = f"{len(refused)} times within {(last.time_ns - first.time_ns) / 1e9:.1f} s"
        yield STATIC_REFUSED.found(
            f"{group} refused its static member, first process {first.process}, because the group was full: "
            f"{times}",
            subject=f"{group} process {first.process}",
            time_ns=first.time_ns,
            witness=sorted({first.index, last.index}),
            explanation=[f"The first refusal was: {first.error}."],
        )


def _worker(process: int | str, workers: int) -> int | str:
    """The first process of a process and its predecessors."""
    return process % workers if workers and isinstance(process, int) else process


def _fits(history: History, setup: Setup, group: str) -> bool:
    """Whether all members of a group are static, and the group has room for all their instance ids."""
    if group not in setup.workload.static or group not in setup.workload.modern:
        return False
    changes = (
        msgspec.convert(operation.value, NodeConfigured).properties
        for operation in history.of("configure")
        if operation.value
    )
    configs = (setup.config, *setup.node_config.values(), *changes)
    sizes = (config.get(MAX_SIZE) for config in configs)
    limits = [int(value) for value in sizes if value is not None]
    return setup.workload.members <= min(limits, default=_UNLIMITED)


def _is_refusal(operation: Operation) -> bool:
    return any(text in (operation.error or "") for text in _REFUSALS)
