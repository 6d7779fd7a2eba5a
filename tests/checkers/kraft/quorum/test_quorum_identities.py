"""The ids that disks keep over restarts: the cluster's and the directory's."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum

Story = Callable[..., History]
KILLED, WIPED = "4 f1 kill c1 ok\n6 f1 heal ok\n", "4 f1 wipe-disk c1 ok\n6 f1 heal ok\n"
CHANGED = "1 c1 file 4 disk=d1\n9 c1 file 5 disk=d2\n"


def found(history: History, name: str = "directory-id-changed") -> int:
    return check_quorum(history).counts.get(name, 0)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("1 c1 file 4 disk=d1\n2 c1 file 4 disk=d1", 0, id="stays"),
        pytest.param("1 c1 file 4 disk=d1\n2 c2 file 4 disk=d2", 0, id="another node's"),
        pytest.param(CHANGED, 1, id="changed"),
        pytest.param(CHANGED + "10 c1 file 5 disk=d1\n", 1, id="reported once"),
        pytest.param(CHANGED + KILLED, 1, id="over a restart"),
        pytest.param(CHANGED + WIPED, 0, id="wiped"),
        pytest.param(CHANGED + WIPED.replace("wipe-disk", "power-loss"), 0, id="what was not synced is lost"),
        pytest.param(CHANGED + WIPED.replace("c1", "c2"), 1, id="another's disk was wiped"),
        pytest.param(CHANGED.replace("1 c1", "7 c1", 1) + WIPED, 1, id="wiped before"),
        pytest.param(CHANGED.replace("9 c1", "3 c1") + WIPED, 1, id="wiped later"),
        pytest.param(CHANGED + "4 f1 wipe-disk c1 info\n", 0, id="perhaps wiped"),
        pytest.param("1 c1 file 4\n9 c1 file 5 disk=d1", 0, id="this version gives ids"),
        pytest.param("1 c1 file 4 disk=d1\n2 c1 file 4\n3 c1 file 4 disk=d1", 0, id="half written"),
        pytest.param("1 c1 file 4 disk=d1\n2 c1 file 4\n3 c1 file 4 disk=d2", 1, id="changed meanwhile"),
    ],
)
def test_directory_ids(story: Story, text: str, count: int) -> None:
    assert found(story(text)) == count


def test_what_it_reports(story: Story) -> None:
    (anomaly,) = (a for a in check_quorum(story(CHANGED)).anomalies if a.id == "directory-id-changed")
    assert anomaly.summary == "The directory of c1 had the id d1, and then d2."
    assert (anomaly.subject, anomaly.witness, anomaly.illegal) == ("c1", (1, 2), True)
    assert anomaly.explanation[1] == "At 9.000 s meta.properties of c1 had directory id d2."


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("1 c1 file 1 cluster=a\n1 c2 file 1 cluster=a", 0, id="one cluster"),
        pytest.param("1 c1 file 1 cluster=a\n2 c1 file 1 cluster=b", 1, id="changed"),
        pytest.param("1 c1 file 1 cluster=a\n9 c1 file 1 cluster=b\n" + KILLED, 1, id="over a restart"),
        pytest.param("1 c1 file 1 cluster=a\n2 c2 file 1 cluster=b", 1, id="another node's"),
        pytest.param(
            "1 c1 file 1 cluster=a\n2 c1 file 1 cluster=b\n3 c1 file 1 cluster=c", 1, id="reported once"
        ),
        pytest.param("1 c1 file 1 cluster=a\n2 c1 file 1 disk=d9 cluster=b", 1, id="on a new disk"),
        pytest.param("1 c1 file 1\n2 c1 file 1 cluster=b", 0, id="not read"),
    ],
)
def test_cluster_ids(story: Story, text: str, count: int) -> None:
    assert found(story(text), "cluster-id-changed") == count


MUTATIONS: dict[str, dict[str, Any]] = {
    "epoch-regression": {"epoch": 0},
    "cluster-id-changed": {"cluster": "other"},
    "directory-id-changed": {"disk": "other"},
}


@given(st.lists(st.integers(0, 2), min_size=3, max_size=12), st.sampled_from(sorted(MUTATIONS)), st.data())
def test_what_a_node_forgets_over_a_restart_is_found(
    story: Story, rises: list[int], broken: str, data: st.DataObject
) -> None:
    epochs = [1 + sum(rises[: i + 1]) for i in range(len(rises))]
    readings: list[dict[str, Any]] = [{"epoch": epoch, "cluster": "a", "disk": "d1"} for epoch in epochs]
    restart = data.draw(st.integers(1, len(readings) - 1))

    def history_of_readings() -> History:
        lines = [
            f"{2 * i + 2} c1 file {r['epoch']} disk={r['disk']} cluster={r['cluster']}"
            for i, r in enumerate(readings)
        ]
        return story(
            "\n".join([*lines, f"{2 * restart + 0.5} f1 kill c1 ok", f"{2 * restart + 1} f1 heal ok"])
        )

    assert not MUTATIONS.keys() & check_quorum(history_of_readings()).counts.keys()
    for reading in readings[restart:]:
        reading.update(MUTATIONS[broken])
    assert check_quorum(history_of_readings()).counts.keys() & MUTATIONS.keys() == {broken}
