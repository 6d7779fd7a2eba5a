"""Metadata logs that a run gathers have all records that rules need, whatever the batches look like."""

from pathlib import Path

import pytest

from checkers.evidence.metadata_whole import opaque_records, thinned_logs
from checkers.history.operations import History
from checkers.history.reading import read_history
from checkers.history.replicas import METADATA_LOG
from harness.evidence.metadata_logs import gather_metadata_logs
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.fakes.segments import batch, write_log
from tests.harness.kafka.test_metadata_records import NO_OP, TOPIC

BUSY = batch(0, [TOPIC]) + batch(1, [NO_OP]) + batch(2, [NO_OP] * 3) + batch(5, [NO_OP, TOPIC, NO_OP])
"""The leader of a busy host puts records that change nothing beside others, and several into one batch."""


def gathered(folder: Path, **logs: bytes) -> History:
    """The history of a run that did nothing but read these metadata logs from the nodes' disks."""
    journals = Journals(folder, "r", Clock())
    disks = {node: folder / "disks" / node for node in logs}
    for node, log in logs.items():
        write_log(disks[node] / "__cluster_metadata-0", {0: log})
        (folder / "nodes" / node).mkdir(parents=True)
    gather_metadata_logs(Recorder(journals.open("runner"), "runner"), disks, folder / "nodes")
    journals.close()
    return read_history(folder)


@pytest.mark.parametrize(
    ("end", "expected"),
    [(b"", [0, 2, 3, 4, 5, 6, 7]), (batch(8, [TOPIC] * 2)[:-3], [0, 2, 3, 4, 5, 6, 7])],
    ids=["whole", "being written"],
)
def test_a_log_of_a_busy_leader_lacks_nothing(tmp_path: Path, end: bytes, expected: list[int]) -> None:
    history = gathered(tmp_path, n1=BUSY, n2=BUSY + end)
    logs = [operation.value for operation in history.observed(METADATA_LOG)]
    assert [[record[0] for record in log["records"]] for log in logs] == [expected] * 2
    assert dict(thinned_logs(history)) == {}
    assert list(opaque_records(history)) == []
