"""Who may be a voter and who may not be missing; clusters that keep their id and what they committed."""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum

Story = Callable[..., History]

ISOLATED: dict[str, Any] = {
    "features": {"kraft.version": 1},
    "nodes": [
        *({"name": f"c{i}", "id": i, "roles": ["controller"]} for i in (1, 2, 3)),
        {"name": "b4", "id": 4, "roles": ["broker"]},
    ],
}


def count(history: History, name: str) -> int:
    return check_quorum(history).counts.get(name, 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("1 c1 leads 1 disk=d1 c2/d2=1 c3/d3=1", 0, id="controllers"),
        pytest.param("1 c1 leads 1 disk=d1 c2/d2=1 c3/d3=1 +b4/d4=9", 0, id="an observer"),
        pytest.param("1 c1 leads 1 disk=d1 c2/d2=1 c3/d3=1 b4/d4=1", 1, id="a voter"),
        pytest.param("1 c1 leads 1 c2=1 b4=1\n2 c1 leads 1 c2=1 b4=2", 1, id="reported once"),
        pytest.param("1 add 4/d4 ok 2", 1, id="its adding was acknowledged"),
        pytest.param("1 add 4/d4 info 2", 0, id="its adding was not"),
        pytest.param("1 remove 4/d4 ok 2", 0, id="its removal"),
        pytest.param("1 add 3/d3 ok 2", 0, id="a controller was added"),
        pytest.param("9 c1 metadata 1:1/d1,4/d4", 1, id="in the log"),
    ],
)
def test_brokers_as_voters(story: Story, text: str, found: int) -> None:
    assert count(story(text, setup=ISOLATED), "broker-as-voter") == found


def test_a_broker_that_exits_is_in_the_witness(story: Story) -> None:
    text = "0.5 b4 exited 0\n1 add 4/d4 ok 2\n2.1 b4 exited 1\n2.2 c3 exited 1\n3 b4 exited 1\n3 b4 running\n"
    result = check_quorum(story(text, setup=ISOLATED))
    (anomaly,) = result.anomalies
    assert anomaly.witness == (2, 3, 4)
    assert anomaly.explanation[-1] == "At 2.100 s b4 had exited with code 1."


def lost(first: int, last: int, words: str = "c1 leads 1 disk=d1 c2/d2={at}") -> str:
    """Answers without c3, every second, while c3 answers that it does not lead."""
    return "".join(f"{at} {words.format(at=at)}\n{at} c3 refuses\n" for at in range(first, last + 1))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(lost(1, 40), 1, id="missing for long"),
        pytest.param(lost(1, 31), 0, id="not so long"),
        pytest.param(lost(1, 33), 1, id="just so long"),
        pytest.param(lost(1, 40, "c1 leads 1 disk=d1 c2/d2={at} c3/d3={at}"), 0, id="a voter"),
        pytest.param(lost(1, 40, "c1 leads 1 disk=d1 c2/d2={at} +c3/d3=9"), 0, id="an observer"),
        pytest.param(lost(1, 40) + "20.5 c1 leads 1 disk=d1 c2/d2=20 +c3/d3=9", 0, id="an observer once"),
        pytest.param(lost(1, 40) + "15 f1 kill c3 ok\n20 f1 heal ok", 0, id="killed meanwhile"),
        pytest.param(lost(1, 60) + "15 f1 kill c3 ok\n20 f1 heal ok", 1, id="killed long ago"),
        pytest.param(lost(1, 60) + "15 f1 kill c3 ok", 0, id="never started again"),
        pytest.param(lost(1, 40) + "15 f1 partition c2 ok\n20 f1 heal ok", 0, id="a voter was cut off"),
        pytest.param(lost(1, 40) + "15 f1 partition c9 cut=c9>c3 ok\n20 f1 heal ok", 0, id="cut from others"),
        pytest.param(lost(1, 40) + "15 f1 partition c9 cut=c9>c8 ok\n20 f1 heal ok", 1, id="others cut"),
        pytest.param(lost(1, 40).replace("c3 refuses", "c3 hangs"), 0, id="it does not run"),
        pytest.param(lost(1, 40) + "20 c3 hangs", 0, id="it was silent once"),
        pytest.param(lost(1, 60) + "20 c3 hangs", 1, id="it was silent long ago"),
        pytest.param(lost(1, 40).replace("c3 refuses", "c2 refuses"), 0, id="nobody saw it"),
        pytest.param(
            lost(1, 20) + "".join(f"{at} c1 leads 1 disk=d1 c2/d2={at}\n" for at in range(21, 41)),
            0,
            id="it was not seen lately",
        ),
    ],
)
def test_controllers_that_are_missing(story: Story, text: str, found: int) -> None:
    # c3 is missing from the beginning: it was formatted without initial controllers.
    assert count(story(text, setup=ISOLATED), "voter-lost") == found


def test_a_missing_controller_is_explained_by_two_answers(story: Story) -> None:
    (anomaly,) = check_quorum(story(lost(1, 40), setup=ISOLATED)).anomalies
    assert anomaly.subject == "c3"
    assert len(anomaly.witness) == 2
    assert anomaly.explanation[0] == (
        "At 1.000 s c1, leader of epoch 1, had the voters 1, 2 and the observers none."
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("1 c1 leads 1 hw=9\n2 c2 leads 2 hw=8", 1, id="high watermark"),
        pytest.param("1 c1 leads 1 hw=9\n2 c2 leads 2 hw=-1 end=8", 1, id="log end"),
        pytest.param("1 c1 leads 1 hw=9\n2 c2 leads 2 hw=8 end=12", 0, id="only its high watermark lags"),
        pytest.param("1 c1 leads 1 hw=9\n2 c2 leads 2 hw=-1", 0, id="nothing is known"),
        pytest.param("1 c1 leads 1 hw=9\n2 c2 leads 2 hw=9 end=9", 0, id="all of it"),
        pytest.param("1 c1 leads 1 hw=9\n2 c1 leads 1 hw=8", 0, id="in one epoch it is another anomaly"),
        pytest.param("1 c1 leads 2 hw=9\n2 c2 leads 1 hw=8", 0, id="an earlier epoch"),
        pytest.param("2 c1 leads 1 hw=9\n1 c2 leads 2 hw=8", 1, id="whenever it is seen"),
        pytest.param(
            "1 c1 leads 1 hw=9\n2 c2 leads 2 hw=12\n3 c3 leads 3 hw=10", 1, id="of the last but one"
        ),
        pytest.param("1 c1 leads 1 hw=9\n2 c2 leads 2 hw=-1\n3 c3 leads 3 hw=8", 1, id="over several epochs"),
        pytest.param("1 c1 leads 1 hw=9\n2 c2 leads 2 hw=7\n3 c2 leads 2 hw=8", 1, id="each epoch once"),
        pytest.param("1 c1 leads 1 hw=9\n1.5 c1 leads 1 hw=7\n2 c2 leads 2 hw=8", 1, id="the highest counts"),
    ],
)
def test_committed_metadata_is_lost(story: Story, text: str, found: int) -> None:
    result = check_quorum(story(text, setup=ISOLATED))
    assert result.counts.get("metadata-committed-lost", 0) == found
    assert all(a.illegal and a.licence is None for a in result.anomalies)


LOST = "1 c1 leads 1 hw=9 c2=1 c3=1\n5 c2 leads 2 hw=8 c1=5 c3=5\n"
STATIC = ISOLATED | {"features": {}}


def wiped(nodes: str, at: int = 2, *, was: str = "d1", now: str = "d9", fault: str = "f1") -> str:
    return f"{at} {fault} wipe-disk {nodes} was={was} now={now} ok\n"


@pytest.mark.parametrize(
    ("setup", "text", "licensed"),
    [
        pytest.param(ISOLATED, "", False, id="no disk was wiped"),
        pytest.param(ISOLATED, wiped("c1"), False, id="one with a new identity has no vote"),
        pytest.param(ISOLATED, wiped("c1", now="d1"), True, id="one with its old identity has"),
        pytest.param(ISOLATED, "2 f1 wipe-disk c1 ok\n", True, id="identity unknown"),
        pytest.param(ISOLATED, "2 f1 wipe-disk c1 lost\n", True, id="whose is not known"),
        pytest.param(STATIC, wiped("c1"), True, id="in a static quorum every identity votes"),
        pytest.param(ISOLATED, wiped("c1") + wiped("c3", 3, fault="f2"), True, id="two of three"),
        pytest.param(ISOLATED, wiped("c1", 6, now="d1"), False, id="wiped later"),
        pytest.param(ISOLATED, wiped("b4", now="d1"), False, id="a broker's"),
        pytest.param(
            ISOLATED, wiped("c1") + wiped("b4", 3, now="d1", fault="f2"), False, id="a broker has no vote"
        ),
        *(
            pytest.param(STATIC, wiped("c1") + f"2.5 f1 heal ok\n{answer}", licensed, id=what)
            for answer, licensed, what in (
                ("3 c3 leads 1 hw=9 c1=2.9@9 c2=2.9@9", False, "it is filled again"),
                ("3 c3 leads 1 hw=9 c1=2.9@8 c2=2.9@9", True, "it lacks something"),
                ("3 c3 leads 1 hw=8 c1=2.9@8 c2=2.9@8", True, "it lacks what others reported"),
                ("3 c3 leads 1 hw=9 c1=1.9@9 c2=2.9@9", True, "what it had before"),
                ("2.55 c3 leads 1 hw=9 c1=2.9@9 c2=2.5@9", True, "before the end of the heal"),
                ("7 c3 leads 1 hw=9 c1=6.9@9 c2=6.9@9", True, "too late"),
                ("3 c1 leads 1 hw=9 end=9 c2=2.9 c3=2.9", False, "it leads and has all"),
                ("3 c1 leads 1 hw=8 end=8 c2=2.9 c3=2.9", True, "it leads and lacks something"),
            )
        ),
        pytest.param(ISOLATED, "2 f1 kill c1 ok\n", False, id="killed"),
    ],
)
def test_wiped_disks_may_license_it(
    story: Story, setup: dict[str, Any], text: str, *, licensed: bool
) -> None:
    found = check_quorum(story(LOST + text, setup=setup)).anomalies
    (anomaly,) = (a for a in found if a.id == "metadata-committed-lost")
    assert (anomaly.licence is not None) is licensed
    assert anomaly.illegal is not licensed


@pytest.mark.parametrize(
    ("spec", "removed", "licensed"),
    [
        ({"scope": "topic", "topic": "log-0"}, ["log-0-0"], False),
        ({"scope": "topic", "topic": None}, ["log-0-0"], False),
        ({"scope": "all", "log_dir": 2}, ["c1-2/log-0-0"], False),
        ({"scope": "all", "log_dir": 1}, ["c1/__cluster_metadata-0"], True),
        ({"scope": "keep-meta", "log_dir": 1}, ["c1/__cluster_metadata-0/00000000000000000000.log"], True),
    ],
)
def test_a_wipe_that_left_the_metadata_log_is_no_licence(
    story: Story, spec: dict[str, Any], removed: list[str], *, licensed: bool
) -> None:
    history = story(LOST + wiped("c1", now="d1"), setup=ISOLATED)
    for operation in history.operations:
        if operation.f == "inject":
            operation.value["spec"] = spec
            if "probe" in operation.value:
                operation.value["probe"]["removed"] = removed
    assert [a.illegal for a in check_quorum(history).anomalies] == [not licensed]


def test_the_first_answer_that_lacks_it_is_the_witness(story: Story) -> None:
    text = "1 c1 leads 1 hw=9\n2 c2 leads 2 hw=7\n3 c2 leads 2 hw=8\n"
    assert [a.witness for a in check_quorum(story(text)).anomalies] == [(1, 2)]
