"""Upgrades and downgrades: a node stops cleanly, and starts another version on the same disks."""

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
    """A node that is down while its container is replaced; the heal starts the new container."""

    def __init__(self, spec: Upgrade, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._version = spec.version or bench.version
        self._image = bench.images[self._version]

    def inject(self) -> None:
        """Stop the node, and replace its image by the image of the other version."""
        self._containers.stop(STOP_BOUND_S)
        self._containers.replace(self._image)

    def took_effect(self) -> dict[str, object]:
        """Check that the node is down, and that its next process is from the other version's image."""
        ended = super().took_effect()
        if self._containers.image != self._image:
            raise NotConfirmedError(f"{self.targets[0]} has the image {self._containers.image}")
        return ended | {"version": self._version, "image": self._image}

    def healed(self) -> dict[str, object]:
        """Check that the process runs, and that it has logged the requested version.

        Kafka logs its version at the end of its start, which it does not reach without a majority.  As after
        a kill, this is recorded, and only the image shows the version.
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
        """The version that the node's process logged last; None if it has not logged it yet."""
        found = _LOGGED.findall(self._containers.logs_of_version().decode(errors="replace"))
        return str(found[-1]) if found else None
