"""A node that dies while a fault holds it."""

import os
import signal

import pytest

from checkers.history.faults import ResolvedBy
from harness.cluster.cluster import Cluster
from harness.cluster.containers import NotRunningError
from harness.faults.activate import activate
from harness.faults.contract import NotConfirmedError
from harness.faults.targets import Resolved
from harness.run.healing import bench_of
from harness.run.readiness import await_ready
from harness.vocabulary import Kill, Pause, Stop

pytestmark = pytest.mark.cluster


def test_a_node_that_dies_while_it_is_frozen_can_be_healed_and_struck_no_more(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    node, target = bench.containers["n3"], Resolved(three_nodes.nodes[2], ResolvedBy.NAME)
    pause = activate(Pause(), "t-frozen", target, bench)
    pause.inject()
    try:
        assert pause.took_effect()
        # The process ends as nobody in the history does it.
        os.kill(node.state()["Pid"], signal.SIGKILL)
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
