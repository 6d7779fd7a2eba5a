"""Ends that clients listed of what an application of Kafka Streams reads and writes, and what they read."""

from typing import Any

import msgspec
import pytest

from checkers.columns.tables import PartitionName
from checkers.history.operations import History, OperationType
from checkers.licences.facts import Facts
from checkers.logs.listed import ENTRY, check_listed
from checkers.logs.listed.clients import NO_EPOCH, known_epoch
from checkers.verdict.verdict import Validity
from checkers.verdict.withholding import MissingParts, withheld
from tests.checkers.admin_histories import TOPIC
from tests.checkers.log_histories import MS
from tests.checkers.logs.listed.test_listed import END_BEHIND, Asked, found, judged

INFO, INVOKE, OK = OperationType.INFO, OperationType.INVOKE, OperationType.OK
READER = {"client": "kafka-python", "isolation": "read_committed"}
PARTITION = PartitionName(TOPIC, 0)


class Application(Asked):
    """A topic of an application; all brokers know that broker 1 led in epoch 0.

    Args:
        loaded: whether producers of the load write it: it is the input, and without transactions.
        application: id of the application.
        reads_ms: when the final reads begin and list their ends; None if unknown.
    """

    def __init__(
        self, *, loaded: bool = False, application: str = "app-0", reads_ms: float | None = 2_100
    ) -> None:
        topics = [{"name": TOPIC, "partitions": 1, "loaded": loaded, "read": loaded}]
        super().__init__(topics=topics, workload={"kind": "streams", "application": application})
        self.view(90, 0, (1, 2, 3))
        if reads_ms is not None:
            self.add(reads_ms, "runner", OK, "phase", key="final-read")

    def client(self, at_ms: float, f: str, how: str = "ok", **answer: Any) -> None:
        """An operation of a client that takes ten milliseconds."""
        asked = {"partition": 0} if f != "final-read" else {**READER, "partition": 0}
        self.both(at_ms, at_ms + 10, f, asked, answer=asked | answer, key=TOPIC, how=how)

    def reads_output(self, at_ms: float, *offsets: int, end: int, how: str = "ok") -> None:
        rows = [[offset, "app-0-1-1", 0, offset, "k", 1, offset] for offset in offsets]
        self.client(at_ms, "read-output", how, start=0, end=end, records=rows, foreign=[])

    def reads_input(self, at_ms: float, *offsets: int, end: int, isolation: str = "read_committed") -> None:
        records = [[0, list(offsets), list(offsets)]]
        more: dict[str, Any] = {
            "start": 0,
            "end": end,
            "position": end,
            "records": records,
            "isolation": isolation,
        }
        self.client(at_ms, "final-read", **more)

    def polls(self, at_ms: float, *offsets: int) -> None:
        records = [[0, list(offsets), list(offsets)]] if offsets else []
        self.both(at_ms, at_ms + 1, "poll", READER, answer={**READER, "records": records}, key=TOPIC)


def test_ends_above_what_was_read_are_right() -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=7)
    told.client(2130, "list-end", start=0, end=7)
    told.add_answer(2150, "latest", 7)
    told.add_answer(2150, "stable", 7)
    assert judged(told).validity is Validity.VALID


@pytest.mark.parametrize("end", [0, 5])
def test_an_end_of_the_output_below_a_record_that_was_read(end: int) -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=6)
    told.client(2130, "list-end", start=0, end=end)
    anomalies = judged(told).anomalies
    assert {anomaly.id for anomaly in anomalies} == {END_BEHIND}
    assert any("6 had been read" in anomaly.summary for anomaly in anomalies)
    assert "Asked by a client after 2.130 s, a leader answered by 2.140 s" in anomalies[0].explanation[1]


def test_an_end_of_the_output_below_the_end_up_to_which_it_was_read() -> None:
    told = Application()
    told.reads_output(2110, end=6)
    told.client(2130, "list-end", start=0, end=5)
    (anomaly,) = judged(told).anomalies
    assert "6 had been reported" in anomaly.summary


@pytest.mark.parametrize("what", ["latest", "stable"])
def test_an_answer_to_an_observer_below_a_record_that_was_read(what: str) -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=6)
    told.add_answer(2150, what, 5)
    assert END_BEHIND in found(told)


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_an_end_of_the_input_below_a_record_that_was_polled(isolation: str) -> None:
    told = Application(loaded=True)
    told.polls(20, 3, 4)
    told.polls(21)
    told.reads_input(2110, 3, end=4, isolation=isolation)
    (anomaly,) = judged(told).anomalies
    assert "5 had been polled" in anomaly.summary
    assert len(anomaly.witness) == 2


@pytest.mark.parametrize(("end", "anomalies"), [(4, []), (3, [END_BEHIND])])
def test_an_unfinished_read_of_the_input_lists_an_end_too(end: int, anomalies: list[str]) -> None:
    told = Application(loaded=True)
    told.add_answer(2050, "stable", 4)
    asked = {**READER, "partition": 0}
    got = {"start": 0, "end": end, "position": 1, "records": []}
    told.add(2110, 7, INVOKE, "final-read", key=TOPIC, value=asked)
    told.add(2120, 7, INFO, "final-read", key=TOPIC, value=asked | got)
    assert found(told) == anomalies


def test_an_answer_to_an_observer_below_the_end_that_a_final_read_listed() -> None:
    told = Application(loaded=True)
    told.reads_input(2110, end=4)
    told.add_answer(2150, "latest", 3)
    assert found(told) == [END_BEHIND]


@pytest.mark.parametrize("end", [4, 5])
def test_a_final_reader_may_have_listed_an_end_before_another_read_further(end: int) -> None:
    told = Application(loaded=True)
    told.reads_input(2110, 3, 4, end=5, isolation="read_uncommitted")
    told.reads_input(2150, 3, end=end)
    told.add_answer(2170, "latest", 5)
    assert judged(told).validity is Validity.VALID


def test_epochs_that_became_known_after_the_final_reads_began_do_not_count() -> None:
    told = Application(loaded=True, reads_ms=1_500)
    told.leads(1_000, 2)
    told.polls(1_400, 3, 4)
    told.view(1_005, 1, (1, 2, 3))
    told.reads_input(2110, 3, end=4)
    result = judged(told)
    assert (result.validity, result.figures["from_unknown_leaders"]) == (Validity.VALID, 1)


def test_the_end_of_a_final_read_is_not_judged_if_the_start_of_its_phase_is_unknown() -> None:
    told = Application(loaded=True, reads_ms=None)
    told.polls(20, 3, 4)
    told.reads_input(2110, 3, end=4)
    assert judged(told).validity is Validity.NOT_EXERCISED


def test_what_was_read_later_shows_nothing() -> None:
    told = Application()
    told.client(2110, "list-end", start=0, end=5)
    told.reads_output(2115, 0, 5, end=6)
    assert judged(told).validity is Validity.VALID


@pytest.mark.parametrize("how", ["fail", "info"])
def test_a_read_that_was_not_completed_shows_nothing(how: str) -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=6, how=how)
    told.client(2130, "list-end", start=0, end=5)
    assert judged(told).validity is Validity.VALID


def test_topics_of_other_loads_are_judged_by_what_was_sent() -> None:
    told = Application(loaded=True, application="")
    told.polls(20, 3, 4)
    told.reads_input(2110, 3, end=4)
    assert judged(told).validity is Validity.NOT_EXERCISED


def test_a_topic_that_was_removed_is_left_out() -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=6)
    told.client(2130, "list-end", start=0, end=5)
    told.both(2125, 2126, "delete-topic", None, key=TOPIC)
    assert judged(told).validity is Validity.NOT_EXERCISED


def test_a_former_leader_may_not_know_what_a_later_one_returned() -> None:
    told = Application()
    told.leads(2115, 2)
    told.reads_output(2120, 0, 5, end=6)
    told.client(2140, "list-end", start=0, end=5)
    result = judged(told)
    assert (result.validity, result.figures["from_unknown_leaders"]) == (Validity.VALID, 2)


@pytest.mark.parametrize(
    ("states", "anomalies"),
    [
        ([], set()),
        ([(10, "running")], set()),
        ([(60, "exited")], {END_BEHIND}),
        ([(60, "exited"), (2_500, "exited")], {END_BEHIND}),
        ([(60, "exited"), (1_500, "running")], set()),
        ([(60, "exited"), (2_500, "running")], set()),
        ([(2_500, "exited")], set()),
    ],
)
def test_a_broker_whose_process_ended_for_good_answers_nobody(
    states: list[tuple[float, str]], anomalies: set[str]
) -> None:
    told = Application()
    told.leads(50, 2)
    told.view(1_000, 1, (2, 3), nodes=(2, 3))
    for at_ms, status in states:
        told.observe(at_ms, "node", {"status": status, "exit_code": 1}, node="n1")
    told.reads_output(2120, 0, 5, end=6)
    told.client(2140, "list-end", start=0, end=0)
    assert set(found(told)) == anomalies


@pytest.mark.parametrize(("workload", "validity"), [("streams", Validity.UNKNOWN), ("log", Validity.INVALID)])
def test_without_the_states_of_nodes_nobody_knows_which_brokers_answer_clients(
    workload: str, validity: Validity
) -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=6)
    told.client(2130, "list-end", start=0, end=5)
    lost = MissingParts(frozenset({"nodes"}), workload)
    assert withheld(judged(told), ENTRY.needs, lost).validity is validity


def test_a_leader_of_before_the_epoch_that_all_brokers_know_does_not_answer_any_more() -> None:
    told = Application()
    told.leads(50, 2)
    told.view(1_000, 1, (1, 2, 3))
    told.reads_output(2120, 0, 5, end=6)
    told.client(2140, "list-end", start=0, end=5)
    assert set(found(told)) == {END_BEHIND}


@pytest.mark.parametrize(
    ("nodes", "at_ms", "epoch"),
    [((1, 2, 3), 1_000, 1), ((1, 2, 3), 1_001, 0), ((1, 3), 1_000, 0), ((), 1_000, 0)],
)
def test_an_epoch_is_known_if_all_brokers_told_a_second_before(
    nodes: tuple[int, ...], at_ms: int, epoch: int
) -> None:
    told = Application()
    told.leads(50, 2)
    told.view(at_ms, 1, (1, 2, 3), nodes=nodes)
    views = Facts(told.history()).views[PARTITION]
    assert known_epoch(views, ("n1", "n2", "n3"), 2_000 * MS) == epoch
    assert known_epoch(views, ("n1", "n4"), 2_000 * MS) == NO_EPOCH
    assert known_epoch(views, (), 2_000 * MS) == NO_EPOCH


def test_without_reports_nothing_is_known_about_the_leader() -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=6)
    told.client(2130, "list-end", start=0, end=5)
    kept = tuple(o for o in told.history().operations if o.key != "partitions")
    before = History("run", "", tuple(msgspec.structs.replace(o, index=n) for n, o in enumerate(kept)))
    assert check_listed(before).validity is Validity.VALID


def test_an_unclean_election_explains_that_an_end_is_lower() -> None:
    told = Application()
    told.reads_output(2110, 0, 5, end=6)
    told.elect(2121, 2125)
    told.changed(2123, leader=3, isr=[3], leaderRecoveryState=1)
    told.client(2140, "list-end", start=0, end=5)
    anomalies = judged(told).anomalies
    assert {anomaly.id for anomaly in anomalies} == {END_BEHIND}
    assert not any(anomaly.illegal for anomaly in anomalies)


class Uncleanly(Application):
    """An application whose partition had an unclean election soon, at 21 to 25 ms, which all brokers know."""

    def __init__(self, *, loaded: bool = False) -> None:
        super().__init__(loaded=loaded)
        self.elect(21, 25)
        self.changed(23, leader=3, isr=[3], leaderRecoveryState=1)
        self.view(90, 1, (3, 1, 2))


@pytest.mark.parametrize("asked", [[[0, 3], [0, 4]], {"partition": 0, "first": 3, "count": 2}])
@pytest.mark.parametrize(("sent_ms", "illegal"), [(10, False), (1_950, True)])
def test_a_loss_before_a_record_was_sent_does_not_explain_that_a_polled_record_is_missing(
    sent_ms: float, asked: Any, *, illegal: bool
) -> None:
    told = Uncleanly(loaded=True)
    told.add(sent_ms, 7, INVOKE, "send", key=TOPIC, value=asked)
    told.polls(2000, 3, 4)
    told.reads_input(2110, 3, end=4)
    (anomaly,) = judged(told).anomalies
    assert (anomaly.id, anomaly.illegal) == (END_BEHIND, illegal)


def test_any_loss_may_explain_that_a_polled_record_is_missing_whose_send_is_unknown() -> None:
    told = Uncleanly(loaded=True)
    told.add(1_950, 7, INVOKE, "send", key=TOPIC, value=[[0, 5]])
    told.add(1_960, 7, INFO, "send", key=TOPIC, value=[[0, 4]])
    told.polls(2000, 3, 4)
    told.reads_input(2110, 3, end=4)
    assert [anomaly.illegal for anomaly in judged(told).anomalies] == [False]


def test_a_poll_of_a_record_that_a_loss_explains_does_not_hide_a_later_read() -> None:
    told = Uncleanly(loaded=True)
    told.polls(2000, 3, 4, 7)
    told.reads_input(2110, 3, 4, end=5)
    told.add_answer(2150, "latest", 4, node="n3", epoch=1)
    anomalies = judged(told).anomalies
    polled, *others = sorted(anomalies, key=lambda anomaly: "polled" not in anomaly.summary)
    assert not polled.illegal
    assert [anomaly.illegal for anomaly in others] == [True, True]


def test_what_was_read_again_after_a_loss_is_not_lost_by_it() -> None:
    told = Uncleanly()
    told.reads_output(5, 0, 5, end=6)
    told.reads_output(2000, 0, 5, end=6)
    told.reads_output(2020, 0, 3, end=6)
    told.client(2110, "list-end", start=0, end=5)
    assert {anomaly.illegal for anomaly in judged(told).anomalies} == {True}
