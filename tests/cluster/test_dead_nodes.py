"""A node that dies by itself while it is frozen: it can be healed, and faults that come later are refused."""

import os
import signal

import pytest

from harness.cluster.cluster import Cluster
from harness.cluster.containers import NodeContainers, NotRunningError
from harness.faults.activate import activate
from harness.faults.contract import NotConfirmedError
from harness.faults.targets import Resolved
from harness.run.healing import bench_of
from harness.run.readiness import await_ready
from harness.vocabulary import (
    Kill,
    Pause,
    Stop,
)

pytestmark = pytest.mark.cluster


def end(node: NodeContainers) -> None:
    """End the node's process as nobody in the history does."""
    os.kill(node.state()["Pid"], signal.SIGKILL)


def test_a_node_that_dies_while_it_is_frozen_can_be_healed_and_struck_no_more(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    node, target = bench.containers["n3"], Resolved(three_nodes.nodes[2], "name")
    pause = activate(Pause(), "t-frozen", target, bench)
    pause.inject()
    try:
        assert pause.took_effect()
        end(node)
    finally:
        pause.heal()
    with pytest.raises(NotConfirmedError, match="n3 is dead"):
        pause.healed()
    assert three_nodes.ended == {"n3"}
    for spec in (Kill(), Stop(), Pause()):
        with pytest.raises(NotRunningError):
            activate(spec, "t-dead", target, bench).inject()
    node.start()
    assert three_nodes.ended == frozenset()
    await_ready(three_nodes)
