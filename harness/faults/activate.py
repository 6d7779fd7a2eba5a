"""The list of faults: a new one is a module beside this one and a line here."""

from collections.abc import Callable
from typing import Any

import msgspec

from harness.faults.answers import ActiveLostAnswers
from harness.faults.contract import ActiveFault, Bench
from harness.faults.disk import ActiveDeadDisk, ActivePowerLoss, ActiveWipe
from harness.faults.packet_loss import ActivePacketLoss
from harness.faults.partition import ActivePartition
from harness.faults.process import ActiveKill, ActivePause, ActiveStop
from harness.faults.requests import ActiveHeldReports, ActiveHeldRequests
from harness.faults.targets import Resolved
from harness.faults.torn import ActiveTornWrite
from harness.vocabulary.faults import (
    DeadDisk,
    Fault,
    HeldReports,
    HeldRequests,
    Kill,
    LostAnswers,
    PacketLoss,
    Partition,
    Pause,
    PowerLoss,
    Stop,
    TornWrite,
    WipeDisk,
)

_WITH_A_CHAIN: dict[type[Fault], Callable[[Any, str, Resolved, Bench], ActiveFault]] = {
    Partition: ActivePartition,
    PacketLoss: ActivePacketLoss,
    LostAnswers: ActiveLostAnswers,
    HeldRequests: ActiveHeldRequests,
    HeldReports: ActiveHeldReports,
}
"""Faults of the packet filter: each has a chain there that is called after it, and ends no process."""
_WITHOUT_A_CHOICE: dict[type[Fault], Callable[[Resolved, Bench], ActiveFault]] = {
    Kill: ActiveKill,
    Pause: ActivePause,
    Stop: ActiveStop,
    PowerLoss: ActivePowerLoss,
}
"""Faults of which nothing is to be known but their target."""


def activate(spec: Fault, fault: str, resolved: Resolved, bench: Bench) -> ActiveFault:
    """The fault that a spec names, its target resolved, not injected yet."""
    if type(spec) in _WITH_A_CHAIN:
        return _WITH_A_CHAIN[type(spec)](spec, fault, resolved, bench)
    match spec:
        case WipeDisk() | DeadDisk() | TornWrite():
            return _of_disk(spec, resolved, bench)
        case _:
            return _WITHOUT_A_CHOICE[type(spec)](resolved, bench)


def _of_disk(spec: WipeDisk | DeadDisk | TornWrite, resolved: Resolved, bench: Bench) -> ActiveFault:
    if isinstance(spec, WipeDisk):
        return ActiveWipe(spec, resolved, bench)
    if isinstance(spec, TornWrite):
        return ActiveTornWrite(spec, resolved, bench)
    return ActiveDeadDisk(spec, resolved, bench)


def process_fault(spec: Fault) -> bool:
    """Whether the fault takes its target's process away, so that no other process fault fits on it."""
    return type(spec) not in _WITH_A_CHAIN


def as_value(spec: Fault) -> dict[str, object]:
    """The spec as it stands in the history and in schedule.json."""
    value: dict[str, object] = msgspec.to_builtins(spec)
    return value
