"""Faults are probed in containers of their own, as `krucible doctor` does."""

import docker
import pytest

from harness.cluster.images import ensure_base
from harness.cluster.loop_disks import lacking
from harness.cluster.probing import PROBES, probe_faults
from harness.vocabulary.topology import DiskKind

pytestmark = pytest.mark.cluster


def test_this_host_can_have_every_fault(engine: docker.DockerClient) -> None:
    ensure_base(client=engine)
    lack = lacking(DiskKind.LOOP_EXT4)
    reasons = {"power-loss": lack, "dead-disk": lack}
    assert probe_faults(engine) == dict.fromkeys(PROBES) | reasons
    assert engine.containers.list(all=True, filters={"label": "krucible.probe"}) == []
