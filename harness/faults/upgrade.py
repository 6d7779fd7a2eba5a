"""Upgrades, downgrades too: a node stops cleanly, and comes back with another version on its disks."""

import re

from harness.faults.activate import carries_out
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.process import PROBE_BOUND_S, STOP_BOUND_S, Restarting, within
from harness.faults.targets import Resolved
from harness.vocabulary.faults import Upgrade
from harness.vocabulary.version import parse_version

_LOGGED = re.compile(r"Kafka version: (\d+\.\d+\.\d+\S*)")
"""How Kafka's AppInfoParser reports its version at every start."""


@carries_out(Upgrade)
class ActiveUpgrade(Restarting):
    """A node that is down while its container is replaced; its heal starts the new one."""

    def __init__(self, spec: Upgrade, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._version = spec.version or bench.version
        self._image = bench.images[self._version]

    def inject(self) -> None:
        """Stop the node, and put the other version's image in the place of its own."""
        self._containers.stop(STOP_BOUND_S)
        self._containers.replace(self._image)

    def took_effect(self) -> dict[str, object]:
        """The node is down, and its next process is that of the other version's image."""
        ended = super().took_effect()
        if self._containers.image != self._image:
            raise NotConfirmedError(f"{self.targets[0]} has the image {self._containers.image}")
        return ended | {"version": self._version, "image": self._image}

    def healed(self) -> dict[str, object]:
        """The process runs, and has logged the version that was asked for.

        Kafka logs it at the end of its start, which without a majority it does not reach: as after a kill,
        that is noted, and the image alone shows the version.
        """
        answered = super().healed()
        if not answered["answers"] and self._logged() is None and self._containers.image == self._image:
            return answered | {"version": None}
        within(PROBE_BOUND_S, lambda: self._logged() is not None)
        logged = self._logged()
        if logged is None or parse_version(logged) != parse_version(self._version):
            raise NotConfirmedError(f"{self.targets[0]} logged version {logged}, not {self._version}")
        return answered | {"version": logged}

    def _logged(self) -> str | None:
        """The version that the node's process logged last; None where it has not yet."""
        found = _LOGGED.findall(self._containers.logs_of_version().decode(errors="replace"))
        return str(found[-1]) if found else None
