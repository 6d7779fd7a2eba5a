"""Epochs that run away while a minority is cut off: never with pre-vote, and legal without it."""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Validity

Story = Callable[..., History]

FIRST = "1 c1 leads 1\n"
CUT = "2 f1 partition c3 cut=c3>c1,c1>c3,c3>c2,c2>c3 ok\n12 f1 heal ok\n"
RUNNING = "11 c3 file 5 vote=c3 asked=10.9\n"


def figures(history: History) -> tuple[int, int]:
    result = check_quorum(history)
    return result.figures["cuts_judged"], result.counts.get("epoch-run-away", 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(FIRST + CUT, (1, 0), id="nothing was seen"),
        pytest.param(FIRST + CUT + RUNNING, (1, 1), id="the minority's epoch"),
        pytest.param(FIRST + CUT + "11 c3 file 4 asked=10.9", (1, 0), id="at the bound"),
        pytest.param(FIRST + CUT + "13 c2 leads 5", (1, 1), id="the majority's, after the heal"),
        pytest.param(FIRST + CUT + "18 c2 leads 5", (1, 0), id="long after the heal"),
        pytest.param(FIRST + CUT + "1.5 c3 file 5", (1, 0), id="before the cut"),
        pytest.param(CUT + RUNNING, (0, 0), id="no leader was known"),
        pytest.param("0.5 c2 leads 2\n" + FIRST + CUT + RUNNING, (1, 0), id="a leader of old is none"),
        pytest.param("9 c1 leads 1\n" + CUT + RUNNING, (0, 0), id="it leads later"),
        pytest.param(FIRST + CUT.replace("partition", "pause") + RUNNING, (0, 0), id="no partition"),
        pytest.param(FIRST + "2 f1 partition c3 cut=c3>c1 ok\n" + RUNNING, (0, 0), id="never healed"),
        pytest.param(FIRST + "2 f1 partition c3 lost\n12 f1 heal ok\n" + RUNNING, (0, 0), id="not proven"),
        pytest.param(
            FIRST + CUT + RUNNING + "5 f2 kill c2 ok\n6 f2 heal ok\n", (0, 0), id="a kill meanwhile"
        ),
        pytest.param(
            FIRST + CUT + "13 f2 kill c2 ok\n14 c2 leads 5\n", (1, 0), id="the next fault comes soon"
        ),
        pytest.param(FIRST + CUT + "13 f2 kill c2 ok\n" + RUNNING, (1, 1), id="but it had run away before"),
        pytest.param(FIRST + CUT + RUNNING + "3 add 4/d4 ok 4\n", (0, 0), id="voters were changed"),
        pytest.param(FIRST + CUT + RUNNING + "3 add 4/d4 lost\n", (0, 0), id="or may have been"),
        pytest.param(FIRST + CUT + RUNNING + "0.2 remove 4/d4 ok 0.4\n", (1, 1), id="changed before"),
        pytest.param(FIRST + CUT.replace("c3", "c9") + RUNNING, (0, 0), id="no voter was cut off"),
        pytest.param(
            FIRST + "2 f1 partition c2 cut=c2>c3,c3>c2 ok\n12 f1 heal ok\n" + RUNNING,
            (0, 0),
            id="not from the leader",
        ),
        pytest.param(
            FIRST + "2 f1 partition c1 cut=c1>c2,c1>c3 ok\n12 f1 heal ok\n" + RUNNING,
            (0, 0),
            id="the leader was",
        ),
        pytest.param(
            FIRST + "2 f1 partition c3 cut=c3>c1 ok\n12 f1 heal ok\n" + RUNNING, (1, 1), id="one way"
        ),
    ],
)
def test_run_aways(story: Story, text: str, expected: tuple[int, int]) -> None:
    assert figures(story(text)) == expected


@pytest.mark.parametrize(
    ("setup", "illegal"),
    [
        pytest.param({"kafka_version": "4.0.0"}, True, id="pre-vote"),
        pytest.param({"kafka_version": "3.9.0"}, False, id="none"),
        pytest.param({"kafka_version": "3.9.0", "promises": ["KIP-996"]}, True, id="none, but asked for"),
        pytest.param({"node_versions": {"c2": "3.9.0"}}, False, id="one node has none"),
        pytest.param({"later_versions": ["3.9.0"]}, False, id="one node was downgraded"),
    ],
)
def test_where_it_is_illegal(story: Story, setup: dict[str, Any], *, illegal: bool) -> None:
    result = check_quorum(story(FIRST + CUT + RUNNING, setup=setup))
    (anomaly,) = result.anomalies
    assert anomaly.illegal is illegal
    assert (anomaly.licence is None) is illegal
    assert (result.validity is Validity.INVALID) is illegal
    assert anomaly.witness == (1, 2, 3, 5, 6, 4)
    assert result.figures["epoch_rise_max"] == 4


UPGRADED = {
    "kafka_version": "4.4.0",
    "node_versions": {"c1": "4.0.0", "c2": "3.9.0", "c3": "4.0.0"},
    "later_versions": ["4.4.0", "3.9.0"],
}
LATE_CUT = (
    "22 f1 partition c3 cut=c3>c1,c1>c3,c3>c2,c2>c3 ok\n32 f1 heal ok\n31 c3 file 5 vote=c3 asked=30.9\n"
)


def upgrade(at: float, node: str, version: str, name: str = "f8") -> str:
    """A node gets another version, and is up again after a second."""
    return f"{at} {name} upgrade {node} version={version} ok\n{at + 1} {name} heal ok\n"


@pytest.mark.parametrize(
    ("text", "illegal"),
    [
        pytest.param(upgrade(2, "c2", "4.4.0"), True, id="the last one without is upgraded long before"),
        pytest.param(upgrade(12, "c2", "4.4.0"), False, id="the last one is upgraded just before"),
        pytest.param(upgrade(2, "c1", "4.4.0"), False, id="another one is upgraded"),
        pytest.param(upgrade(40, "c2", "4.4.0"), False, id="the last one is upgraded afterwards"),
        pytest.param(
            upgrade(2, "c2", "4.4.0") + upgrade(40, "c3", "3.9.0", "f9"), True, id="one goes back afterwards"
        ),
        pytest.param(
            upgrade(2, "c2", "4.4.0") + upgrade(5, "c3", "3.9.0", "f9"), False, id="one goes back before"
        ),
    ],
)
def test_the_versions_of_that_time_promise_it(story: Story, text: str, *, illegal: bool) -> None:
    later = sorted({"4.4.0", *({"3.9.0"} if "version=3.9.0" in text else ())})
    result = check_quorum(story(FIRST + text + LATE_CUT, setup=UPGRADED | {"later_versions": later}))
    assert [each.illegal for each in result.anomalies if each.id == "epoch-run-away"] == [illegal]
