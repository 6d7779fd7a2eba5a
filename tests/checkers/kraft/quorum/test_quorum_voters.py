"""Changes of the voters: each asked for, one at a time, and none lost once it was acknowledged."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History, OperationType
from checkers.kraft.quorum import check_quorum

Story = Callable[..., History]

DYNAMIC: dict[str, Any] = {"features": {"kraft.version": 1}}
NODES = [{"name": f"c{i}", "id": i, "roles": ["controller"]} for i in range(1, 6)]
AUTO_JOIN = "controller.quorum.auto.join.enable"

ONE_TWO = "c1 leads {epoch} disk=d1 c2/d2={at}\n"
AND_THREE = "c1 leads {epoch} disk=d1 c2/d2={at} c3/d3={at}\n"


def two(at: float, epoch: int = 1) -> str:
    """An answer of c1 with the voters 1 and 2."""
    return f"{at} " + ONE_TWO.format(at=at, epoch=epoch)


def three(at: float, epoch: int = 1) -> str:
    """An answer of c1 with the voters 1, 2 and 3."""
    return f"{at} " + AND_THREE.format(at=at, epoch=epoch)


def counts(history: History) -> dict[str, int]:
    return dict(check_quorum(history).counts)


def unexplained(history: History) -> int:
    return counts(history).get("voter-unexplained", 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(two(1) + three(4), 1, id="joined, and nobody asked"),
        pytest.param(three(1) + two(4), 1, id="left, and nobody asked"),
        pytest.param(two(1) + "2 add 3/d3 ok 3\n" + three(4), 0, id="added"),
        pytest.param(three(1) + "2 remove 3/d3 ok 3\n" + two(4), 0, id="removed"),
        pytest.param(two(1) + "2 add 3/d3 info 3\n" + three(4), 0, id="may have been added"),
        pytest.param(two(1) + "2 add 3/d3 lost\n" + three(4), 0, id="without an answer"),
        pytest.param(two(1) + "2 add 3/d3 fail 3\n" + three(4), 1, id="refused"),
        pytest.param(two(1) + "2 add 3/d3 fail 3 code=7\n" + three(4), 0, id="refused as too late"),
        pytest.param(two(1) + "2 add 3/d9 ok 3\n" + three(4), 1, id="another disk was asked for"),
        pytest.param(two(1) + "2 add 4/d4 ok 3\n" + three(4), 1, id="another voter was asked for"),
        pytest.param(two(1) + "2 remove 3/d3 ok 3\n" + three(4), 1, id="the opposite was asked for"),
        pytest.param(two(1) + three(4) + "5 add 3/d3 ok 6\n", 1, id="asked for later"),
        pytest.param("0.1 add 3/d3 ok 0.2\n" + two(1) + three(4), 1, id="acknowledged earlier in that epoch"),
        pytest.param("0.1 add 3/d3 info 0.2\n" + two(1) + three(4), 0, id="timed out, and committed later"),
        pytest.param(
            two(1) + "2 add 3/d3 ok 3\n" + three(4) + "5 remove 3/d3 ok 6\n" + two(7) + three(8),
            1,
            id="a request explains one change",
        ),
        pytest.param(
            two(1)
            + "2 add 3/d3 info 3\n2.5 add 3/d3 ok 4\n"
            + three(4)
            + "5 remove 3/d3 ok 6\n"
            + two(7)
            # The one that was acknowledged explains the first, so that the other is left for the second.
            + three(8),
            0,
            id="requests are used by their deadlines",
        ),
        pytest.param(two(1) + three(4) + two(5) + three(6), 2, id="each direction is reported once"),
        pytest.param("1 c1 leads 1 disk=d1 c2/d2=1\n2 c1 leads 1 disk=d1 c2/d9=1", 2, id="another disk"),
        pytest.param("1 c1 leads 1 c2=1\n2 c1 leads 1 disk=d1 c2/d2=1", 0, id="disks become known"),
    ],
)
def test_changes_between_answers(story: Story, text: str, found: int) -> None:
    assert unexplained(story(text, setup=DYNAMIC)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            two(1) + "2 add 3/d3 info 9\n" + three(3) + two(5, epoch=2), 0, id="lost with its leader"
        ),
        pytest.param(
            two(1) + "2 add 3/d3 info 9\n" + three(3) + two(5, epoch=2) + three(7, epoch=3), 0, id="and back"
        ),
        pytest.param(
            two(1) + "2 add 3/d3 info 9\n" + three(3) + two(5, epoch=2) + three(7, epoch=2) + two(8, epoch=2),
            1,
            id="not undone in an epoch",
        ),
        pytest.param(
            two(1) + "2 add 3/d3 ok 4\n" + three(3) + two(5, epoch=2), 1, id="an acknowledged one is lost"
        ),
        pytest.param(
            two(1) + "2 add 3/d3 ok 9\n" + three(3) + two(5, epoch=2) + three(8, epoch=3),
            0,
            id="acknowledged when a later leader had it",
        ),
        pytest.param(three(1) + two(3, epoch=2), 1, id="what was there first is committed"),
        pytest.param(
            three(1) + "2 remove 3/d3 info 9\n" + two(3) + three(5, epoch=2), 0, id="a removal is undone"
        ),
        pytest.param(
            "5 " + ONE_TWO.format(at=5, epoch=1) + "2 add 3/d3 ok 3\n" + three(4, epoch=2),
            0,
            id="an old leader answers late",
        ),
    ],
)
def test_changes_that_may_never_have_been_committed(story: Story, text: str, found: int) -> None:
    assert unexplained(story(text, setup=DYNAMIC)) == found


def test_an_answer_to_nothing_explains_nothing(story: Story) -> None:
    history = story(two(1) + "2 add 3/d3 ok 3\n" + three(4), setup=DYNAMIC)
    operations = tuple(o for o in history.operations if o.type is not OperationType.INVOKE)
    assert unexplained(msgspec.structs.replace(history, operations=operations)) == 1


OTHERS = (
    "None of these requests explains it: each failed, asked for the opposite, was done at another time, or "
    "explains another change."
)


def test_the_explanation_names_sets_and_requests(story: Story) -> None:
    result = check_quorum(story(two(1) + "2 add 3/d3 fail 3\n" + three(4), setup=DYNAMIC))
    (anomaly,) = result.anomalies
    assert anomaly.subject == "voter 3"
    assert anomaly.witness == (1, 4)
    assert anomaly.explanation == (
        "At 1.000 s, in epoch 1, the voters were 1, 2; at 4.000 s, in epoch 1, they were 1, 2, 3.",
        "A request at 2.000 s to add voter 3 (d3): fail.",
        OTHERS,
    )
    alone = check_quorum(story("1 c1 leads 1 alone\n2 c2 leads 2 alone", setup=DYNAMIC)).anomalies
    assert {each.explanation[1] for each in alone} == {"No request asked for a change of that voter."}
    assert {each.summary.partition(")")[0] for each in alone} == {
        "Voter 1 (disk unknown",
        "Voter 2 (disk unknown",
    }


@pytest.mark.parametrize(
    ("features", "text", "found"),
    [
        pytest.param({}, "", 0, id="static: a disk may change"),
        pytest.param({"kraft.version": 1}, "", 2, id="dynamic: it is part of the voter"),
        pytest.param({}, "0.5 feature kraft.version 1\n", 2, id="upgraded before"),
        pytest.param({}, "3.5 feature kraft.version 1\n", 0, id="upgraded after"),
        pytest.param({}, "0.5 feature kraft.version 0\n", 0, id="not upgraded"),
        pytest.param({}, "0.5 feature metadata.version 1\n", 0, id="another feature"),
    ],
)
def test_disks_matter_in_dynamic_quorums(
    story: Story, features: dict[str, int], text: str, found: int
) -> None:
    text += "1 c1 leads 1 disk=d1 c2/d2=1\n3 c1 leads 1 disk=d1 c2/d9=3\n"
    assert unexplained(story(text, setup={"features": features})) == found


@pytest.mark.parametrize(
    ("setup", "text", "found"),
    [
        pytest.param({"config": {AUTO_JOIN: "true"}}, two(1) + three(2), 0, id="joins"),
        pytest.param({"config": {AUTO_JOIN: "false"}}, two(1) + three(2), 1, id="switched off"),
        pytest.param({"node_config": {"c3": {AUTO_JOIN: "true"}}}, two(1) + three(2), 0, id="on that node"),
        pytest.param(
            {"node_config": {"c2": {AUTO_JOIN: "true"}}}, two(1) + three(2), 1, id="on another node"
        ),
        pytest.param(
            {"config": {AUTO_JOIN: "true"}, "kafka_version": "4.1.1"}, two(1) + three(2), 1, id="too old"
        ),
        pytest.param(
            {"config": {AUTO_JOIN: "true"}, "kafka_version": "4.1.1", "later_versions": ["4.2.0"]},
            two(1) + three(2),
            0,
            id="upgraded",
        ),
        pytest.param(
            {"config": {AUTO_JOIN: "true"}, "kafka_version": "4.1.1", "later_versions": ["4.2.0"]},
            two(1) + three(2) + "5 f1 upgrade c3 version=4.2.0 ok\n",
            1,
            id="upgraded later",
        ),
        pytest.param(
            {"config": {AUTO_JOIN: "true"}, "kafka_version": "4.1.1", "later_versions": ["4.2.0"]},
            two(1) + "1.5 f1 upgrade c3 version=4.2.0 ok\n" + three(2),
            0,
            id="upgraded before",
        ),
        pytest.param({"config": {AUTO_JOIN: "true"}}, three(1) + two(2), 1, id="nobody leaves by itself"),
        pytest.param(
            {"config": {AUTO_JOIN: "true"}},
            "0.5 c3 file 1 disk=d9\n" + three(1) + two(2),
            0,
            id="but it removes its old disk",
        ),
        pytest.param(
            {"config": {AUTO_JOIN: "true"}}, two(1) + three(2) + two(3, epoch=2), 0, id="joined in vain"
        ),
        pytest.param(
            {"config": {AUTO_JOIN: "true"}}, two(1) + "2 c1 leads 1 disk=d1 c2/d2=1 b9/d9=1", 1, id="a broker"
        ),
    ],
)
def test_controllers_that_join_by_themselves(
    story: Story, setup: dict[str, Any], text: str, found: int
) -> None:
    assert unexplained(story(text, setup=DYNAMIC | setup)) == found


@pytest.mark.parametrize(
    ("log", "text", "found"),
    [
        pytest.param("1:1/d1,2/d2", "", {}, id="the first set"),
        pytest.param("1:1/d1,2/d2 1:1/d1,2/d2", "", {}, id="nothing changed but an endpoint"),
        pytest.param("1:1/d1 1:1/d1,2/d2", "", {"voter-unexplained": 1}, id="joined, and nobody asked"),
        pytest.param("1:1/d1 1:1/d1,2/d2", "2 add 2/d2 ok 3", {}, id="added"),
        pytest.param("snapshot 1:1/d1 1:1/d1,2/d2", "", {"voter-unexplained": 1}, id="since a snapshot"),
        pytest.param(
            "1:1/d1,2/d2 2:1/d1 3:1/d1,2/d2",
            "2 remove 2/d2 info 3\n4 add 2/d2 ok 5",
            {},
            id="seen by no observer",
        ),
        pytest.param(
            "1:1/d1 1:1/d1,2/d2,3/d3",
            "2 add 2/d2 ok 3\n4 add 3/d3 ok 5",
            {"voter-change-not-single": 1},
            id="two at once",
        ),
        pytest.param(
            "1:1/d1,2/d2 1:1/d1,2/d9",
            "2 remove 2/d2 ok 3\n4 add 2/d9 ok 5",
            {"voter-change-not-single": 1},
            id="a disk replaced in one step",
        ),
        pytest.param("unreadable", "", {}, id="unreadable"),
        pytest.param("", "", {}, id="no records"),
        pytest.param("snapshot 1:1/d1", "", {}, id="a snapshot and no records"),
    ],
)
def test_changes_in_the_log(story: Story, log: str, text: str, found: dict[str, int]) -> None:
    lines = f"9 c1 metadata {log}\n{text}"
    assert counts(story(lines, setup=DYNAMIC)) == found


def test_the_most_advanced_log_counts(story: Story) -> None:
    text = "9 c1 metadata 1:1/d1 2:1/d1,2/d2\n9 c2 metadata 1:1/d1 1:1/d1,3/d3 1:1/d1\n1 add 2/d2 ok 2"
    assert counts(story(text, setup=DYNAMIC)) == {}


def test_a_snapshot_behind_the_log_s_beginning_does_not_come_first(story: Story) -> None:
    history = story("9 c1 metadata snapshot 2:1/d1,2/d2 3:1/d1", setup=DYNAMIC)
    checkpoint = history.operations[1].value["checkpoint"]
    checkpoint[0] = checkpoint[0].replace("05-", "99-")
    assert counts(history) == {}


def test_figures(story: Story) -> None:
    text = (
        two(1)
        + "2 add 3/d3 ok 3\n"
        + three(4)
        + "5 remove 3/d3 info 6\n6 remove 2/d2 info 7\n7 add 4/d4 fail 8\n8 add 4/d4 lost\n"
    )
    open_ = check_quorum(story(text, setup=DYNAMIC)).figures
    assert open_["voter_sets"] == 2
    assert (open_["voters_min"], open_["voters_max"]) == (2, 3)
    assert open_["voter_adds"] == {"fail": 1, "info": 1, "ok": 1}
    assert open_["voter_removes"] == {"info": 2}
    assert open_["voter_changes_resolved"] == {"open": 3}

    log = "9 c1 metadata 1:1/d1,2/d2 1:1/d1,2/d2,3/d3 1:1/d1,2/d2\n"
    closed = check_quorum(story(text + log, setup=DYNAMIC)).figures
    assert closed["voter_sets"] == 3
    assert closed["voter_changes_resolved"] == {"happened": 1, "not": 2}


class Quorum:
    """A quorum of up to five that changes its voters as in KIP-853.

    A request may be refused, acknowledged, or end without an answer, and then its record may be lost with its
    leader, or committed later.  Observers look now and then, so that changes go by unseen; the log has all.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.voters = {1, 2, 3}
        self.epoch = 1
        self.at = 1.0
        self.lines: list[str] = []
        self.records = [(1, frozenset(self.voters))]

    def story(self, changes: int) -> str:
        self.look()
        for _ in range(changes):
            self.change()
            if self.random.random() < 0.7:
                self.look()
        log = " ".join(f"{epoch}:{','.join(f'{v}/d{v}' for v in sorted(s))}" for epoch, s in self.records)
        return "\n".join([*self.lines, f"{self.at + 1:.2f} c1 metadata {log}"])

    def look(self) -> None:
        """The leader, for whom any voter will do, answers."""
        self.at += 0.5
        leader, *others = sorted(self.voters)
        fetches = " ".join(f"c{other}/d{other}={self.at:.2f}" for other in others) or "alone"
        self.lines.append(
            f"{self.at:.2f} c{leader} leads {10 * self.epoch + leader} disk=d{leader} {fetches}"
        )

    def change(self) -> None:
        joins = sorted({1, 2, 3, 4, 5} - self.voters)
        leaves = sorted(self.voters) if len(self.voters) > 1 else []
        voter = self.random.choice(joins + leaves)
        f, after = (
            ("remove", self.voters - {voter}) if voter in self.voters else ("add", self.voters | {voter})
        )
        asked, self.at = self.at + 0.1, self.at + 0.5
        outcome = self.random.choice(["ok", "fail", "committed", "undone"])
        kind = {"ok": "ok", "fail": "fail"}.get(outcome, "info")
        self.lines.append(f"{asked:.2f} {f} {voter}/d{voter} {kind} {self.at:.2f}")
        if outcome == "fail":
            return
        before, self.voters = self.voters, after
        if outcome == "undone":
            self.look()
            self.voters = before
            self.epoch += 1
            self.look()
        else:
            self.records.append((10 * self.epoch + 9, frozenset(after)))
            self.epoch += self.random.choice([0, 1])


SETTLED = DYNAMIC | {"nodes": NODES}


@given(st.integers(0, 10_000), st.integers(0, 12))
def test_a_correct_quorum_changes_its_voters_quietly(story: Story, seed: int, changes: int) -> None:
    found = counts(story(Quorum(seed).story(changes), setup=SETTLED))
    assert not {name for name in found if name.startswith("voter")}


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 12))
def test_a_change_without_its_request_is_always_found(
    story: Story, seed: int, changes: int, which: int
) -> None:
    lines = Quorum(seed).story(changes).splitlines()
    acknowledged = [line for line in lines if " ok " in line]
    if acknowledged:
        dropped = acknowledged[which % len(acknowledged)]
        related = dropped.split()[2]
        rest = [line for line in lines if f" {related} " not in line]
        assert unexplained(story("\n".join(rest), setup=SETTLED)) > 0
