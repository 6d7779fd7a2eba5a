"""Log lines by which coordinators refuse static members, because another one has their instance id.

Kafka's GroupMetadataManager and CoordinatorRuntime write them at level INFO.  librdkafka reports only that a
member was refused; kafka-clients also reports who has its instance id.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.history.logged import InstanceRefused

_REFUSED = re.compile(
    r"(?P<at>\S+) INFO .*\[GroupCoordinator id=\d+ topic=(?P<topic>\S+) partition=(?P<partition>\d+)\]"
    r" \[GroupId (?P<group>.+)\] Static member (?P<member>\S+) with instance id (?P<instance>.+) cannot join"
    r" the group because the instance id is owned by member (?P<owner>\S+)\. "
)
_TEXT = "cannot join the group because the instance id is owned by member"
_COORDINATOR = "[GroupCoordinator id="
_LOADED = re.compile(
    r".*\[GroupCoordinator id=\d+\] Finished loading of metadata from (?P<topic>\S+)-(?P<partition>\d+)"
    r" with epoch (?P<epoch>\d+) "
)
_UNLOADING = re.compile(
    r".*\[GroupCoordinator id=\d+\] Started unloading metadata for (?P<topic>\S+)-(?P<partition>\d+) "
)
_OTHER = re.compile(r".*\[GroupCoordinator id=\d+ topic=(?P<topic>\S+) partition=(?P<partition>\d+)\]")


@dataclass(slots=True)
class _Loaded:
    """The coordinator of a partition that was loaded.

    Attributes:
        line: number of the line that says so.
        epoch: the leader epoch.
        named: owners that its lines have named since then, apart from refusals.
        refused: group, owner, and whether the owner had been named, of its refusals.
    """

    line: int
    epoch: int
    named: set[str] = field(default_factory=set)
    refused: set[tuple[str, str, bool]] = field(default_factory=set)


def instances_refused(log: str) -> Iterator[InstanceRefused]:
    """Refusals in the order of their lines; of those that differ only in the refused member, the first one.

    Those of a coordinator whose loading the log does not have are left out.
    """
    if _TEXT not in log:
        return
    lines = [one for one in enumerate(log.splitlines(), start=1) if _COORDINATOR in one[1]]
    owners = {refused["owner"] for _, line in lines if (refused := _REFUSED.match(line)) is not None}
    coordinators: dict[tuple[str, str], _Loaded] = {}
    for number, line in lines:
        if loaded := _LOADED.match(line):
            coordinators[_partition(loaded)] = _Loaded(number, int(loaded["epoch"]))
        elif unloading := _UNLOADING.match(line):
            coordinators.pop(_partition(unloading), None)
        elif other := _OTHER.match(line):
            coordinator = coordinators.get(_partition(other))
            refused = _REFUSED.match(line)
            if coordinator is not None and refused is not None:
                yield from _told(number, refused, coordinator)
            elif coordinator is not None:
                coordinator.named.update(owner for owner in owners if owner in line)


def _partition(match: re.Match[str]) -> tuple[str, str]:
    return match["topic"], match["partition"]


def _told(number: int, refused: re.Match[str], coordinator: _Loaded) -> Iterator[InstanceRefused]:
    group, owner = refused["group"], refused["owner"]
    named = owner in coordinator.named
    if (group, owner, named) not in coordinator.refused:
        coordinator.refused.add((group, owner, named))
        yield InstanceRefused(
            line=number,
            at=refused["at"],
            topic=refused["topic"],
            partition=int(refused["partition"]),
            group=group,
            member=refused["member"],
            instance=refused["instance"],
            owner=owner,
            epoch=coordinator.epoch,
            loaded=coordinator.line,
            named=named,
        )
