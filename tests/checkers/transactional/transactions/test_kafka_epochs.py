"""Two initialisations never have one epoch of a producer id, and the later one has the newer epoch."""

from typing import Any

import msgspec
import pytest

from checkers.judge import CHECKERS, result_by
from checkers.transactional.transactions import check_transactions
from checkers.transactional.transactions.kafka.epochs import epochs_given_again, given_epochs
from checkers.verdict.verdict import Anomaly, Validity
from tests.checkers.admin_histories import TOPIC, AdminStory

RULE = "producer-epoch-given-again"


class Story(AdminStory):
    """Initialisations of transactional producers, and a transaction, so that there is something to judge."""

    def given(
        self,
        at_ms: float,
        end_ms: float | None,
        producer_id: Any,
        epoch: Any,
        *,
        key: str = "t-0",
        **how: str,
    ) -> "Story":
        answer = {"client": "kafka-python", "producer_id": producer_id, "epoch": epoch}
        asked = {"client": "kafka-python"}
        self.both(at_ms, end_ms, "init-transactions", asked, answer=answer, key=key, **how)
        return self

    def transacted(self) -> "Story":
        asked = {"client": "c", "end": "commit", "mops": [["send", TOPIC, 0, 7]]}
        self.both(500, 501, "txn", asked, answer=asked | {"mops": [["send", TOPIC, 0, 7, 0]]}, key="t-0")
        return self

    def found(self) -> list[Anomaly]:
        return list(epochs_given_again(self.history()))


def test_the_same_epoch_twice() -> None:
    (found,) = Story().given(10, 11, 5, 3).given(20, 21, 5, 3).found()
    assert (found.id, found.subject, found.illegal) == (RULE, "producer id 5", True)
    assert found.witness == (1, 2, 3, 4)
    assert "with producer id 5 with epoch 3" in found.summary


def test_an_older_epoch_is_compared_with_the_latest_that_was_newer() -> None:
    story = Story().given(10, 11, 5, 9).given(20, 21, 5, 4).given(30, 31, 5, 3)
    assert [one.witness for one in story.found()] == [(1, 2, 3, 4), (3, 4, 5, 6)]


def test_the_same_epoch_at_one_time() -> None:
    (found,) = Story().given(10, 15, 5, 3).given(11, 14, 5, 3).found()
    assert found.witness == (2, 3, 1, 4)


def test_one_producer_id_of_two() -> None:
    (found,) = Story().given(10, 11, 5, 3).given(20, 21, 5, 4, key="t-1").found()
    assert found.illegal
    assert "t-1 was initialised" in found.summary


def test_one_producer_id_of_two_where_the_blocks_of_ids_may_be_lost() -> None:
    story = Story().given(10, 11, 5, 3).given(40, 41, 5, 0, key="t-1").given(50, 51, 5, 0)
    story.fault(20, 30, "wipe-disk", "n1", "n2", "n3", scope="all")
    assert [(one.illegal, one.licence is not None) for one in story.found()] == [(False, True), (True, False)]


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(Story().given(10, 11, 5, 3).given(20, 21, 5, 4), id="the next one"),
        pytest.param(Story().given(10, 11, 5, 3).given(20, 21, 5, 9), id="transactions ended between"),
        pytest.param(Story().given(10, 11, 5, 32_766).given(20, 21, 6, 0), id="used up"),
        pytest.param(Story().given(10, 15, 5, 4).given(11, 14, 5, 3), id="at one time, in any order"),
        pytest.param(Story().given(10, 11, 5, 3).given(20, 21, 6, 3, key="t-1"), id="another one's"),
        pytest.param(Story().given(10, 11, 5, 3).given(20, None, 5, 3), id="not answered"),
        pytest.param(Story().given(10, 11, 5, 3).given(20, 21, 5, 3, how="info"), id="not known"),
        pytest.param(Story().given(10, 11, None, None).given(20, 21, None, None), id="kept by the library"),
        pytest.param(Story().given(10, 11, -1, -1).given(20, 21, -1, -1), id="none yet"),
        pytest.param(Story().given(10, 11, 5, None).given(20, 21, 5, "3"), id="something else"),
    ],
)
def test_what_is_as_it_should_be(story: Story) -> None:
    assert story.found() == []


def test_an_answer_without_a_value_shows_nothing() -> None:
    story = Story()
    story.both(10, 11, "init-transactions", None, key="t-0")
    assert given_epochs(story.history()) == []


def test_the_checker_reports_it() -> None:
    history = Story().given(10, 11, 5, 3).given(20, 21, 5, 3).transacted().history()
    result = check_transactions(history)
    assert (result.validity, result.counts) == (Validity.INVALID, {RULE: 1})
    assert result.figures["epochs_given"] == 2


@pytest.mark.parametrize(
    ("lacking", "validity"),
    [
        ("worker-3", Validity.INVALID),
        ("nemesis", Validity.UNKNOWN),
        ("admin", Validity.UNKNOWN),
        ("replicas", Validity.UNKNOWN),
    ],
)
def test_it_rests_on_what_may_permit_a_loss(lacking: str, validity: Validity) -> None:
    """Whatever else clients did, two that got the same epoch got the same epoch."""
    story = Story(workload={"kind": "txn"}).given(10, 11, 5, 3).given(20, 21, 5, 3).transacted()
    history = msgspec.structs.replace(story.history(), lacking=frozenset({lacking}))
    assert result_by("transactions", CHECKERS["transactions"], history).validity is validity
