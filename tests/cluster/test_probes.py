"""Faults are probed in containers of their own, as `krucible doctor` does."""

import docker
import pytest

from harness.cluster.containers import OWNER_LABEL
from harness.cluster.images import ensure_base
from harness.cluster.loop_disks import lacking
from harness.cluster.probing import PROBE_LABEL, PROBES, probe_faults
from harness.record.ownership import Owner
from harness.vocabulary.topology import DiskKind

NOBODY = Owner(pid=2**22 + 1, start_ticks=1)
"""A process that can't exist: its id is above Linux's limit."""
pytestmark = pytest.mark.cluster


def test_this_host_can_have_every_fault(engine: docker.DockerClient) -> None:
    base = ensure_base(client=engine)
    of_killed_probe = {PROBE_LABEL: "doctor", OWNER_LABEL: NOBODY.label()}
    engine.containers.create(base, ["true"], labels=of_killed_probe)
    lack = lacking(DiskKind.LOOP_EXT4)
    reasons = {"power-loss": lack, "dead-disk": lack}
    assert probe_faults(engine) == dict.fromkeys(PROBES) | reasons
    assert engine.containers.list(all=True, filters={"label": PROBE_LABEL}) == []
