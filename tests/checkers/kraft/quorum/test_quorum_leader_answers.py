"""What leaders' answers say of logs: high watermarks, ends of followers' logs, sets of voters."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from checkers.history.operations import History
from checkers.judge import result_by
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Anomaly, Validity

Story = Callable[..., History]

RULES = {
    "high-watermark-unfounded",
    "follower-beyond-leader",
    "voter-end-regression",
    "two-uncommitted-voter-sets",
}
DYNAMIC = {"features": {"kraft.version": 1}}
WIPED = "f1 wipe-disk c2 was=d2 now=d2 ok"


def anomalies(history: History) -> list[Anomaly]:
    return [anomaly for anomaly in check_quorum(history).anomalies if anomaly.id in RULES]


def found(history: History) -> list[str]:
    return [f"{anomaly.id}: {anomaly.subject}" for anomaly in anomalies(history)]


class TestMarks:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("hw=9 end=8 c2=0.9@8 c3=0.9@8", "its own log ends at 8"),
            ("hw=9 end=9 c2=0.9@8 c3=0.9@8", "1 of 3 voters"),
            ("hw=9 end=9 c2=0.9@-1 c3=0.9@-1", "1 of 3 voters"),
            ("hw=9 leaving c2=0.9@9 c3=0.9@8", "1 of 2 voters"),
            ("hw=9 leaving +c1=8 c2=0.9@9 c3=0.9@9", "its own log ends at 8"),
        ],
    )
    def test_what_no_majority_has(self, story: Story, text: str, why: str) -> None:
        again = text.replace("0.9@", "1.9@")
        reported = anomalies(story(f"1 c1 leads 1 {text}\n2 c1 leads 1 {again}"))
        (first,) = (anomaly for anomaly in reported if anomaly.id == "high-watermark-unfounded")
        assert first.subject == "c1, epoch 1"
        assert why in first.summary
        assert first.witness == (1,)

    @pytest.mark.parametrize(
        "text",
        [
            "hw=9 end=9 c2=0.9@9 c3=0.9@8",
            "hw=9 end=12 c2=0.9@9 c3=0.9@-1",
            "hw=-1 end=9 c2=0.9@-1 c3=0.9@-1",
            "hw=9 alone end=9",
            "hw=9 leaving c2=0.9@9",
            "hw=9 end=-1 c2=0.9@9 c3=0.9@9",
        ],
    )
    def test_what_a_majority_has(self, story: Story, text: str) -> None:
        again = text.replace("0.9@", "1.9@")
        assert found(story(f"1 c1 leads 1 {text}\n2 c1 leads 1 {again}")) == []

    def test_one_finding_for_a_leader(self, story: Story) -> None:
        state = "hw=9 end=9 c2=0.9@8 c3=0.9@8\n"
        text = "".join(
            f"{at} c1 leads {1 + at // 4} {state.replace('0.9', str(at))}" for at in (1, 2, 3, 4, 5)
        )
        assert found(story(text)) == [
            "high-watermark-unfounded: c1, epoch 1",
            "high-watermark-unfounded: c1, epoch 2",
        ]

    def test_what_was_committed_before_a_voter_joined_needs_no_majority_with_it(self, story: Story) -> None:
        before = "1 c1 leads 1 hw=9 disk=d1 end=9 c2/d2=0.9@9\n"
        joined = "2 c1 leads 1 hw={} disk=d1 end=12 c2/d2=0.9@9 c3/d3=0.9@0 c4/d4=0.9@0\n"
        later = "3 c1 leads 1 hw=11 disk=d1 end=12 c2/d2=2@11 c3/d3=2@0 c4/d4=2@0\n"
        later += later.replace("3 c1", "4 c1").replace("=2@", "=3@")
        assert found(story(before + joined.format(9), setup=DYNAMIC)) == []
        assert found(story(before + joined.format(9) + later, setup=DYNAMIC)) == [
            "high-watermark-unfounded: c1, epoch 1"
        ]

    @pytest.mark.parametrize("change", ["0.5 add 4/d4 info 0.6", "0.5 remove 4/d4 ok 0.6"])
    def test_a_change_before_the_first_answer_may_explain_it(self, story: Story, change: str) -> None:
        text = "1 c1 leads 1 hw=9 disk=d1 end=9 c2/d2=0.9@0 c3/d3=0.9@0\n"
        text += text.replace("1 c1", "2 c1").replace("0.9@", "1.9@")
        assert found(story(text, setup=DYNAMIC)) == ["high-watermark-unfounded: c1, epoch 1"]
        assert found(story(change + "\n" + text, setup=DYNAMIC)) == []
        joins = DYNAMIC | {"config": {"controller.quorum.auto.join.enable": "true"}}
        assert found(story(text, setup=joins)) == []

    def test_what_voters_had_fetched_before_counts(self, story: Story) -> None:
        text = "1 c1 leads 1 hw=5 end=9 c2=0.9@9 c3=0.9@5\n2 c1 leads 1 hw=9 end=9 c2=1.9@6 c3=1.9@5\n"
        assert found(story(text + "3 c1 leads 1 hw=9 end=9 c2=2.9@6 c3=2.9@5\n")) == []

    @pytest.mark.parametrize(("after", "known"), [("2.9@9", True), ("1.9@6", True), ("2.9@6", False)])
    def test_a_fetch_that_was_held_up_sets_an_end_back_until_the_next(
        self, story: Story, after: str, *, known: bool
    ) -> None:
        text = "2 c1 leads 1 hw=9 end=9 c2=1.9@6 c3=1.9@5\n"
        assert found(story(text)) == []
        text += f"3 c1 leads 1 hw=9 end=9 c2={after} c3=2.9@5\n"
        assert found(story(text)) == ([] if known else ["high-watermark-unfounded: c1, epoch 1"])

    def test_a_disk_that_was_hit_may_have_had_it(self, story: Story) -> None:
        text = "3 c1 leads 1 hw=9 end=9 c2=2.9@0 c3=2.9@8\n4 c1 leads 1 hw=9 end=9 c2=3.9@0 c3=3.9@8\n"
        assert found(story(text)) == ["high-watermark-unfounded: c1, epoch 1"]
        assert found(story(f"1 {WIPED}\n2 f1 heal ok\n" + text)) == []
        assert found(story("1 f1 kill c2 ok\n2 f1 heal ok\n" + text)) != []


class TestBeyond:
    def test_a_voter_and_an_observer_beyond_their_leader(self, story: Story) -> None:
        text = "1 c1 leads 1 hw=5 end=8 c2=0.9@9 c3=0.9@8 +c4=10"
        assert found(story(text + "\n2" + text[1:])) == [
            "follower-beyond-leader: 2, epoch 1",
            "follower-beyond-leader: 4, epoch 1",
        ]

    def test_where_the_leader_reports_no_end_nothing_is_known(self, story: Story) -> None:
        assert found(story("1 c1 leads 1 hw=5 end=-1 c2=0.9@9 c3=0.9@8")) == []


class TestEnds:
    SAME = "1 c1 leads 1 hw=9 end=9 c2=0.9@9 c3=0.9@7\n3 c1 leads 2 hw=9 end=9 c2=2.9@8 c3=2.9@7\n"

    def test_below_what_was_committed(self, story: Story) -> None:
        (anomaly,) = anomalies(story(self.SAME + "4 c1 leads 2 hw=9 end=9 c2=2.9@7 c3=2.9@7\n"))
        assert (anomaly.id, anomaly.subject) == ("voter-end-regression", "voter 2, epoch 2")
        assert anomaly.witness == (1, 2)

    def test_in_one_epoch_an_old_fetch_may_come_late(self, story: Story) -> None:
        assert found(story(self.SAME.replace("leads 2", "leads 1"))) == []

    def test_a_fault_of_its_disk_explains_it(self, story: Story) -> None:
        assert found(story(f"2 {WIPED}\n2.5 f1 heal ok\n" + self.SAME)) == []
        assert found(story("2 f1 power-loss c2 ok\n2.5 f1 heal ok\n" + self.SAME)) == []
        assert found(story("2 f1 power-loss c3 ok\n2.5 f1 heal ok\n" + self.SAME)) != []

    def test_unknown_again_is_no_end(self, story: Story) -> None:
        assert found(story(self.SAME.replace("2.9@8", "2.9@-1"))) == []

    def test_another_disk_is_another_voter(self, story: Story) -> None:
        text = self.SAME.replace("c2=0.9", "c2/old=0.9").replace("c2=2.9", "c2/new=2.9")
        assert found(story(text, setup=DYNAMIC)) == []

    @pytest.mark.parametrize(
        ("mark", "now", "regressed"),
        [(9, 8, True), (9, 9, False), (7, 8, False), (7, 7, False), (7, 6, True)],
    )
    def test_in_a_later_epoch_what_was_committed_stays(
        self, story: Story, mark: int, now: int, *, regressed: bool
    ) -> None:
        text = f"1 c1 leads 1 hw={mark} end=9 c2=0.9@9 c3=0.9@9\n"
        text += f"3 c3 leads 2 hw={mark} end=9 c1=2.9@9 c2=2.9@{now}\n"
        assert found(story(text)) == (["voter-end-regression: voter 2, epoch 2"] if regressed else [])
        assert found(story(text + f"2 {WIPED}\n2.5 f1 heal ok\n")) == []

    def test_what_a_later_leader_committed_proves_nothing_of_an_earlier_tail(self, story: Story) -> None:
        text = "1 c1 leads 1 hw=5 end=9 c2=0.9@9 c3=0.9@5\n"
        text += "3 c3 leads 2 hw=9 end=9 c1=2.9@9 c2=2.9@5\n"
        assert found(story(text)) == []

    def test_what_the_leader_lacks_is_reported_once(self, story: Story) -> None:
        text = "1 c1 leads 1 hw=9 end=9 c2=0.9@9 c3=0.9@9\n3 c3 leads 2 hw=5 end=6 c1=2.9@6 c2=2.9@5\n"
        text += "4 c3 leads 2 hw=9 end=12 c1=3.9@12 c2=3.9@6\n"
        assert found(story(text)) == []
        assert "metadata-committed-lost" in check_quorum(story(text)).counts

    def test_other_disks_may_license_it(self, story: Story) -> None:
        text = "1 c1 leads 1 hw=9 end=9 c2=0.9@9 c3=0.9@9\n3 c1 leads 2 hw=9 end=9 c2=2.9@8 c3=2.9@9\n"
        wiped = "2 f1 wipe-disk c3 ok\n2.5 f1 heal ok\n"
        (anomaly,) = anomalies(story(wiped + text.replace("c3=2.9@9", "c3=0.9@9")))
        assert not anomaly.illegal
        assert anomaly.licence == "the disks of c3 had been wiped"


class TestSets:
    LOG = "9 c1 metadata 1:1/d1,2/d2 1:1/d1,2/d2,3/d3\n"

    @pytest.mark.parametrize(
        ("mark", "end", "epoch", "both"),
        [(0, 11, 1, True), (-1, 11, 1, True), (1, 11, 1, False), (0, 10, 1, False), (0, 11, 2, False)],
    )
    def test_two_of_one_epoch(self, story: Story, mark: int, end: int, epoch: int, *, both: bool) -> None:
        text = f"1 c1 leads {epoch} hw={mark} end={end} disk=d1 c2/d2=0.9@1\n"
        reported = found(story(text + text.replace("1 c1", "2 c1") + self.LOG, setup=DYNAMIC))
        assert reported == (["two-uncommitted-voter-sets: epoch 1"] if both else [])

    def test_two_of_two_epochs(self, story: Story) -> None:
        log = self.LOG.replace(" 1:1/d1,2/d2,3", " 2:1/d1,2/d2,3")
        text = "1 c1 leads {} hw=0 end=11 disk=d1 c2/d2=0.9@0\n"
        for epoch in (1, 2):
            assert found(story(text.format(epoch) + log, setup=DYNAMIC)) == []


@pytest.mark.parametrize(
    ("text", "journal", "illegal"),
    [
        (TestEnds.SAME, "nemesis", False),
        (TestEnds.SAME, "worker-1", True),
        ("1 c1 leads 1 hw=9 end=8 c2=0.9@8 c3=0.9@8", "admin", False),
        ("1 c1 leads 1 hw=9 end=8 c2=0.9@8 c3=0.9@8", "replicas", True),
    ],
)
def test_without_faults_and_requests_nothing_is_certain(
    story: Story, text: str, journal: str, *, illegal: bool
) -> None:
    history = msgspec.structs.replace(story(text), lacking=frozenset({journal}))
    validity = result_by("quorum", check_quorum, history).validity
    assert validity is (Validity.INVALID if illegal else Validity.UNKNOWN)


def test_figures(story: Story) -> None:
    figures: dict[str, Any] = check_quorum(story("1 c1 leads 1 hw=-1 end=9 c2=0.9@-1 c3=0.9@7")).figures
    assert {name: figures[name] for name in ("answers_judged", "marks_judged", "voter_ends_judged")} == {
        "answers_judged": 1,
        "marks_judged": 0,
        "voter_ends_judged": 2,
    }
