"""Errors that Kafka promises not to give: illegal where nothing explains them, otherwise a doubt."""

from typing import Any

import pytest

from checkers.evidence.named_errors import codes_in, nothing_but
from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, Operation, OperationType
from checkers.transactional.client_errors import check_client_errors
from checkers.verdict.verdict import Anomaly, Validity

S = 1_000_000_000
LOST = "OUT_OF_ORDER_SEQUENCE_NUMBER: Broker: Broker received an out of order sequence number (fatal)"
LOST_PYTHON = (
    "OutOfOrderSequenceNumberError: [Error 45] OutOfOrderSequenceNumberError: None (about a sequence)"
)
LOST_NAMED = "OUT_OF_ORDER_SEQUENCE_NUMBER: The broker received an out of order sequence number"
FENCED = "_FENCED: Failed to end transaction: Local: This instance has been fenced by a newer instance"
FENCED_PYTHON = (
    "ProducerFencedError: [Error 90] ProducerFencedError (epochs are compared before the decision)"
)
OLD_EPOCH = "INVALID_PRODUCER_EPOCH: Broker: Producer attempted an operation with an old epoch"
STATE = "INVALID_TXN_STATE: Broker: Producer attempted a transactional operation in an invalid state"
TIMED_OUT = "_MSG_TIMED_OUT: Local: Message timed out (waiting or in flight, librdkafka's wrapper can't say)"
GONE = "_FATAL: Local: Fatal error (the producer gave up; earlier attempts are open)"


class Story:
    """A history recorded operation by operation, a second after each other."""

    def __init__(self, **workload: Any) -> None:
        self.operations: list[Operation] = []
        known = {"workers": 100, "transaction_timeout_ms": 10_000, "durable_processes": [50]}
        self.put(
            "runner",
            OK,
            "setup",
            None,
            {
                "kafka_version": "4.3.1",
                "nodes": [{"name": f"n{i}", "id": i, "roles": ["broker", "controller"]} for i in (1, 2, 3)],
                "controller_fetch_timeout_ms": 2000,
                "observe_interval_ms": 250,
                "assumptions": dict.fromkeys(
                    ("acked_before", "acked_after", "invoked_during", "fault_held_ms", "recovery_ms"), 0
                ),
                "topics": [{"name": "log-0", "partitions": 3, "config": {"min.insync.replicas": "2"}}],
                "workload": known | workload,
            },
        )

    def put(  # noqa: PLR0917 - the fields of an operation
        self,
        process: int | str,
        kind: OperationType,
        f: str,
        key: Any = None,
        value: Any = None,
        error: str | None = None,
        *,
        after_s: float = 0.1,
    ) -> "Story":
        before = self.operations[-1].time_ns if self.operations else 0
        index, time_ns = len(self.operations), before + int(after_s * S)
        self.operations.append(Operation(index, time_ns, process, kind, f, key, value, error))
        return self

    def send(
        self, *entries: tuple[int, str], process: int = 1, error: str | None = None, key: str = "log-0"
    ) -> "Story":
        values = [[partition, index] for index, (partition, _) in enumerate(entries)]
        acknowledged = [
            [*pair, index if outcome == "ok" else None, outcome]
            for index, (pair, (_, outcome)) in enumerate(zip(values, entries, strict=True))
        ]
        outcomes = {outcome for _, outcome in entries}
        kind = OperationType(outcomes.pop()) if len(outcomes) == 1 else INFO
        self.put(process, INVOKE, "send", key, values)
        return self.put(process, kind, "send", key, acknowledged, error)

    def initialise(
        self, process: int, kind: OperationType | None = OK, *, took_s: float = 0.1, **who: int
    ) -> "Story":
        self.put(process, INVOKE, "init-transactions", "txn-0", {"client": "kafka-python", **who})
        if kind is not None:
            answered = {"client": "kafka-python"}
            self.put(process, kind, "init-transactions", "txn-0", answered, after_s=took_s)
        return self

    def transact(
        self,
        process: int = 7,
        kind: OperationType = OK,
        error: str | None = None,
        *,
        took_s: float = 0.1,
        offset: int | None = 3,
        client: str = "kafka-python",
    ) -> "Story":
        asked = {"client": client, "end": "commit", "mops": [["send", "log-0", 0, 1]]}
        done = {**asked, "mops": [["send", "log-0", 0, 1, offset]], "ended": None if error else "commit"}
        self.put(process, INVOKE, "txn", "txn-0", asked)
        return self.put(process, kind, "txn", "txn-0", done, error, after_s=took_s)

    def history(self, *lacking: str) -> History:
        return History("run", "", tuple(self.operations), lacking=frozenset(lacking))

    def anomaly(self) -> Anomaly | None:
        anomalies = check_client_errors(self.history()).anomalies
        assert len(anomalies) <= 1
        return anomalies[0] if anomalies else None

    def doubt(self) -> str:
        """Why the only anomaly is legal."""
        anomaly = self.anomaly()
        assert anomaly is not None
        assert not anomaly.illegal
        return anomaly.licence or ""


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (LOST, {45}),
        (LOST_PYTHON, {45}),
        (FENCED, {90}),
        (FENCED_PYTHON, {90}),
        (OLD_EPOCH, {47}),
        (f"{STATE}; {LOST}", {45, 48}),
        ("[Error 51] ConcurrentTransactions", set()),
        (TIMED_OUT, set()),
        ("no delivery report within the delivery timeout", set()),
    ],
)
def test_codes_are_found_in_the_words_of_either_library(text: str, codes: set[int]) -> None:
    assert codes_in(text) == codes


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        (LOST, True),
        (f"{LOST}; {GONE}", True),
        (f"{LOST}; _PURGE_QUEUE: Local: Purged in queue", True),
        (f"{LOST}; {TIMED_OUT}", False),
        (f"its commit was never asked for; abort: {LOST_PYTHON}", True),
        (f"{LOST}; its commit was never asked for; abort: _STATE: Local: Erroneous state", True),
        ("", False),
    ],
)
def test_other_trouble_is_distinguished_from_what_follows(text: str, alone: bool) -> None:  # noqa: FBT001 - a parameter
    assert nothing_but(text, {45}) is alone


def test_without_sends_there_is_nothing_to_judge() -> None:
    assert check_client_errors(Story().history()).validity is Validity.NOT_EXERCISED


def test_acknowledged_records_are_as_they_should_be() -> None:
    result = check_client_errors(Story().send((0, "ok")).transact().history())
    assert result.validity is Validity.VALID
    assert result.figures == {
        "operations": 2,
        "with_errors": 0,
        "errors_of_sequences": 0,
        "refused_transactions": 0,
    }


class TestSequences:
    @pytest.mark.parametrize("error", [LOST, LOST_PYTHON, f"{LOST}; {GONE}", "UNKNOWN_PRODUCER_ID: gone"])
    def test_a_sequence_that_nobody_knows_after_an_acknowledgement_is_illegal(self, error: str) -> None:
        recording = Story().send((0, "ok"), (1, "ok")).send((0, "info"), (0, "info"), error=error)
        result = check_client_errors(recording.history())
        assert (result.validity, result.counts) == (Validity.INVALID, {"sequence-lost": 1})
        (anomaly,) = result.anomalies
        assert anomaly.witness == (2, 4)
        assert anomaly.summary.startswith("Process 1 got an error for log-0/0: ")

    def test_the_latest_acknowledgement_is_the_witness(self) -> None:
        anomaly = Story().send((0, "ok")).send((0, "ok")).send((0, "info"), error=LOST).anomaly()
        assert anomaly is not None
        assert anomaly.witness == (4, 6)

    def test_each_partition_has_its_own_acknowledgement_as_a_witness(self) -> None:
        recording = Story().send((0, "ok")).send((1, "ok")).send((0, "info"), (1, "info"), error=LOST)
        anomaly = recording.anomaly()
        assert anomaly is not None
        assert anomaly.illegal
        assert anomaly.witness == (2, 4, 6)

    def test_a_run_of_which_every_record_is_listed_counts_as_well(self) -> None:
        recording = Story()
        run = {"partition": 0, "first": 1, "count": 2}
        recording.put(1, INVOKE, "send", "log-0", run).put(
            1, OK, "send", "log-0", run | {"offsets": [[0, 2]]}
        )
        anomaly = recording.send((0, "info"), error=LOST).anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    def test_without_a_word_on_records_nothing_is_reported(self) -> None:
        recording = Story().send((0, "ok"))
        recording.put(1, INVOKE, "send", "log-0", [[0, 1]]).put(1, INFO, "send", "log-0", [[0, 1]], LOST)
        run = {"partition": 0, "first": 1, "count": 2}
        recording.put(2, INVOKE, "send", "log-0", run).put(2, INFO, "send", "log-0", run, LOST)
        assert recording.anomaly() is None

    def test_other_trouble_leaves_a_doubt(self) -> None:
        recording = Story().send((0, "ok")).send((0, "info"), (0, "info"), error=f"{TIMED_OUT}; {LOST}")
        assert "other errors are reported" in recording.doubt()

    def test_records_that_were_acknowledged_beside_it_leave_a_doubt(self) -> None:
        recording = Story().send((0, "ok")).send((0, "ok"), (0, "info"), error=LOST)
        assert "out of order" in recording.doubt()
        run = {"partition": 0, "first": 1, "count": 2, "offsets": [[0, 2]]}
        recording = Story().put(1, INVOKE, "send", "log-0", run).put(1, FAIL, "send", "log-0", run, LOST)
        assert "out of order" in recording.doubt()

    @pytest.mark.parametrize(
        "before",
        [
            Story(),
            Story().send((1, "ok")),
            Story().send((0, "ok"), process=2),
            Story().send((0, "ok")).send((0, "fail"), error="no client, nothing sent"),
            Story().send((0, "ok"), key="other"),
        ],
    )
    def test_a_producer_that_had_nothing_acknowledged_there_leaves_a_doubt(self, before: Story) -> None:
        assert "no earlier record of this producer" in before.send((0, "info"), error=LOST).doubt()

    @pytest.mark.parametrize("workload", [{"acks": "1"}, {"acks": 0}, {"idempotent": False}])
    def test_who_does_not_wait_for_all_is_promised_nothing(self, workload: dict[str, Any]) -> None:
        recording = Story(**workload).send((0, "ok")).send((0, "info"), error=LOST)
        assert "did not wait for all replicas" in recording.doubt()

    def test_the_probe_has_a_new_producer_for_each_attempt(self) -> None:
        recording = Story().send((0, "ok"), process=50).send((0, "info"), process=50, error=LOST)
        assert "new producer" in recording.doubt()

    @pytest.mark.parametrize(("partition", "illegal"), [(0, False), (1, True)])
    def test_a_loss_that_is_permitted_there_explains_it(self, *, partition: int, illegal: bool) -> None:
        recording = Story().send((0, "ok"), (1, "ok"))
        recording.put("admin", INVOKE, "delete-records", "log-0", [[0, 5]]).put(
            "admin", OK, "delete-records", "log-0", [[0, 5]]
        )
        anomaly = recording.send((partition, "info"), error=LOST).anomaly()
        assert anomaly is not None
        assert anomaly.illegal is illegal
        assert illegal or "DeleteRecords" in (anomaly.licence or "")

    def test_what_had_ended_before_the_last_records_were_sent_explains_nothing(self) -> None:
        recording = Story().send((0, "ok"))
        recording.put("admin", INVOKE, "delete-records", "log-0", [[0, 5]]).put(
            "admin", OK, "delete-records", "log-0", [[0, 5]]
        )
        recording.send((1, "ok")).send((0, "ok")).send((0, "info"), error=LOST)
        anomaly = recording.anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    def test_what_came_later_explains_nothing(self) -> None:
        recording = Story().send((0, "ok")).send((0, "info"), error=LOST)
        recording.put("admin", INVOKE, "delete-records", "log-0", [[0, 5]], after_s=5)
        anomaly = recording.anomaly()
        assert anomaly is not None
        assert anomaly.illegal


class TestSequencesOfTransactions:
    """A transactional producer is idempotent: its sequences go on from one transaction to the next."""

    @staticmethod
    def failed_commit(
        story: Story, error: str = f"{LOST}; its commit was never asked for", **how: Any
    ) -> Story:
        return story.transact(7, FAIL, error, **({"offset": None} | how))

    @pytest.mark.parametrize("error", [LOST, f"{LOST_PYTHON}; its commit was never asked for; abort: {LOST}"])
    def test_a_sequence_that_nobody_knows_is_illegal(self, error: str) -> None:
        result = check_client_errors(self.failed_commit(Story().initialise(7).transact(), error).history())
        assert (result.validity, result.counts) == (Validity.INVALID, {"sequence-lost": 1})
        (anomaly,) = result.anomalies
        assert anomaly.witness == (4, 6)
        assert anomaly.summary.startswith("Process 7 got an error for log-0/0: ")

    def test_one_that_was_aborted_on_purpose_counts_as_well(self) -> None:
        anomaly = self.failed_commit(Story().initialise(7).transact(7, FAIL)).anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    @pytest.mark.parametrize(
        "before",
        [
            pytest.param(Story().initialise(7), id="the first transaction"),
            pytest.param(Story().transact().initialise(7), id="another producer's"),
            pytest.param(Story().transact(8), id="another process's"),
            pytest.param(
                Story().transact(7, FAIL, TIMED_OUT, offset=None), id="a producer that was given up"
            ),
            pytest.param(Story().transact(7, offset=None), id="nobody knows where"),
        ],
    )
    def test_a_producer_that_had_nothing_acknowledged_there_leaves_a_doubt(self, before: Story) -> None:
        assert "no earlier record of this producer" in self.failed_commit(before).doubt()

    def test_other_trouble_leaves_a_doubt(self) -> None:
        assert (
            "other errors are reported"
            in self.failed_commit(Story().transact(), f"{TIMED_OUT}; {LOST}").doubt()
        )

    def test_a_batch_that_was_sent_twice_leaves_a_doubt(self) -> None:
        # As recorded when requests were held on some connections (exploratory/gambits-held, seed 1).
        error = (
            "OUT_OF_ORDER_SEQUENCE_NUMBER: ProduceRequest for txn-0 [3] with 2 message(s) failed "
            "due to sequence desynchronization with broker 2 (PID{Id:1000,Epoch:25}, base seq 8, "
            "idemp state change 6613ms ago, last partition error _TIMED_OUT (actions "
            "Retry,MsgPossiblyPersisted, base seq 1..1, base msgid 2, 3746ms ago) (fatal); its "
            "commit was never asked for"
        )
        assert "sent there twice" in self.failed_commit(Story().transact(), error).doubt()
        anomaly = self.failed_commit(
            Story().initialise(7).transact(), error.replace("_TIMED_OUT", "NO_ERROR")
        ).anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    @pytest.mark.parametrize(
        ("took_s", "level", "version", "illegal"),
        [
            (0.9, 1, None, True),
            (1.1, 1, None, False),
            (1.1, 1, 1, False),
            (1.1, 2, None, True),
            (1.1, 2, 2, True),
            (1.1, 2, 1, False),
            (0.9, 2, 1, True),
        ],
    )
    @pytest.mark.parametrize("client", ["kafka-clients", "kafka-clients-other", "kafka-python"])
    def test_kafka_clients_may_have_sent_a_batch_twice_if_that_took_long(
        self, *, client: str, took_s: float, level: int, version: int | None, illegal: bool
    ) -> None:
        story = Story().initialise(7).transact(client=client)
        recording = self.failed_commit(
            story, f"{LOST_NAMED}; its commit was never asked for", took_s=took_s, client=client
        )
        recording.operations[0].value["features"] = {"transaction.version": level}
        if version is not None:
            recording.operations[-1].value["version"] = version
        anomaly = recording.anomaly()
        assert anomaly is not None
        assert anomaly.illegal is illegal
        assert illegal or "does not report" in (anomaly.licence or "")

    def test_records_that_were_acknowledged_beside_it_leave_a_doubt(self) -> None:
        assert "out of order" in self.failed_commit(Story().transact(), offset=9).doubt()

    def test_a_loss_that_is_permitted_there_explains_it(self) -> None:
        story = Story().transact()
        story.put("admin", INVOKE, "delete-records", "log-0", [[0, 5]])
        assert "DeleteRecords" in self.failed_commit(story).doubt()

    def test_workloads_say_nothing_of_what_transactions_require(self) -> None:
        anomaly = self.failed_commit(Story(acks="1", idempotent=False).transact()).anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    def test_scripts_and_answers_without_a_word_on_records_are_passed_over(self) -> None:
        assert self.failed_commit(Story().transact(), client="raw").anomaly() is None
        recording = (
            Story().transact().put(7, INVOKE, "txn", "txn-0", None).put(7, INFO, "txn", "txn-0", None, LOST)
        )
        assert recording.anomaly() is None


class TestTransactions:
    @pytest.mark.parametrize("error", [FENCED, FENCED_PYTHON, OLD_EPOCH])
    def test_fencing_without_a_rival_is_illegal(self, error: str) -> None:
        result = check_client_errors(Story().initialise(7).transact().transact(7, INFO, error).history())
        assert (result.validity, result.counts) == (Validity.INVALID, {"fenced-without-rival": 1})
        (anomaly,) = result.anomalies
        assert anomaly.witness == (2, 5, 6)

    @pytest.mark.parametrize("error", [STATE, "InvalidPidMapping: [Error 49] InvalidProducerIdMapping"])
    def test_a_transaction_that_is_forgotten_is_illegal(self, error: str) -> None:
        result = check_client_errors(Story().initialise(7).transact().transact(7, INFO, error).history())
        assert (result.validity, result.counts) == (Validity.INVALID, {"transaction-forgotten": 1})

    @pytest.mark.parametrize("kind", [OK, INFO, None])
    def test_a_rival_explains_it(self, kind: OperationType | None) -> None:
        recording = Story().initialise(7).transact().initialise(9, kind).transact(7, INFO, FENCED)
        assert recording.anomaly() is None

    @pytest.mark.parametrize(("pause_s", "rival"), [(0.0, True), (2.6, True), (3.0, False)])
    def test_one_of_unknown_fate_may_come_late(self, pause_s: float, *, rival: bool) -> None:
        recording = Story().initialise(9, INFO).put("runner", OK, "mark", after_s=pause_s)
        recording.initialise(7).transact().transact(7, INFO, FENCED)
        assert (recording.anomaly() is None) is rival

    @pytest.mark.parametrize(
        ("kind", "client", "rival"),
        [(None, "kafka-python", True), (INFO, "confluent-kafka", True), (INFO, "kafka-python", False)],
    )
    def test_one_that_nobody_gave_up_may_come_at_any_time(
        self, kind: OperationType | None, client: str, *, rival: bool
    ) -> None:
        """A producer of librdkafka may go on after it was closed, unless the set-up says that it ends."""
        recording = Story().initialise(9, kind)
        for operation in recording.operations[1:]:
            operation.value["client"] = client
        recording.put("runner", OK, "mark", after_s=100)
        recording.initialise(7).transact().transact(7, INFO, FENCED)
        assert (recording.anomaly() is None) is rival

    @pytest.mark.parametrize(
        ("ended", "pause_s", "rival"), [(True, 2.6, True), (True, 3.0, False), (False, 100.0, True)]
    )
    def test_one_of_librdkafka_that_was_closed_may_come_late(
        self, pause_s: float, *, ended: bool, rival: bool
    ) -> None:
        """The close lasted 4 s, and process 109 is the successor of 9, whose initialisation got no answer."""
        recording = Story().initialise(9, INFO)
        recording.operations[0].value["producers_end"] = True
        for operation in recording.operations[1:]:
            operation.value["client"] = "confluent-kafka"
        closed = {"client": "confluent-kafka", "ended": ended}
        recording.put(109, OK, "producer-closed", "txn-0", closed, after_s=4.0)
        recording.put("runner", OK, "mark", after_s=pause_s)
        recording.initialise(7).transact().transact(7, INFO, FENCED)
        assert (recording.anomaly() is None) is rival

    @pytest.mark.parametrize(("kind", "process"), [(FAIL, 9), (OK, 7)])
    def test_who_came_before_or_never_asked_is_no_rival(self, kind: OperationType, process: int) -> None:
        recording = Story().initialise(8, kind).initialise(process, OK).transact(process)
        anomaly = recording.transact(process, INFO, FENCED).anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    def test_another_id_is_no_rival(self) -> None:
        recording = Story().initialise(7).transact()
        recording.put(9, INVOKE, "init-transactions", "txn-1", {})
        assert recording.transact(7, INFO, FENCED).anomaly() is not None

    @pytest.mark.parametrize(("took_s", "explained"), [(9.9, False), (10.0, True)])
    def test_a_timeout_explains_it(self, *, took_s: float, explained: bool) -> None:
        recording = Story().initialise(7).transact().transact(7, INFO, STATE, took_s=took_s)
        assert (recording.anomaly() is None) is explained

    @pytest.mark.parametrize(
        ("own_ms", "took_s", "explained"), [(3_000, 2.9, False), (3_000, 3.0, True), (20_000, 10.0, False)]
    )
    def test_the_timeout_that_its_producer_asked_for_counts(
        self, *, own_ms: int, took_s: float, explained: bool
    ) -> None:
        recording = (
            Story().initialise(7, timeout_ms=own_ms).transact().transact(7, INFO, STATE, took_s=took_s)
        )
        assert (recording.anomaly() is None) is explained

    def test_a_timeout_that_nobody_knows_explains_it(self) -> None:
        recording = Story(transaction_timeout_ms=None).initialise(7).transact().transact(7, INFO, STATE)
        assert recording.anomaly() is None

    @pytest.mark.parametrize(("error", "asked_after"), [(FENCED, 3), (STATE, 3)])
    def test_a_lost_state_of_transactions_explains_it(
        self, monkeypatch: pytest.MonkeyPatch, error: str, asked_after: int
    ) -> None:
        """What matters is what was lost since the end of the transaction before was asked for."""
        asked: list[Any] = []

        def lost(_: History, *arguments: Any) -> str:
            asked.append(arguments)
            return "a wiped disk"

        monkeypatch.setattr("checkers.transactional.client_errors.fencing.lost_state", lost)
        recording = Story().initialise(7).transact().transact(7, INFO, error)
        assert recording.doubt() == "a wiped disk"
        times_ns = [operation.time_ns for operation in recording.operations]
        assert asked == [("txn-0", times_ns[asked_after], times_ns[6])]

    def test_scripts_ask_for_what_no_library_would(self) -> None:
        recording = Story().initialise(7).transact().transact(7, INFO, FENCED, client="raw")
        assert recording.anomaly() is None

    def test_an_answer_without_a_question_is_passed_over(self) -> None:
        assert Story().put(7, INFO, "txn", "txn-0", None, FENCED).anomaly() is None

    def test_a_producer_that_nobody_initialised_leaves_a_doubt(self) -> None:
        assert "no acknowledged initialisation" in Story().transact(7, INFO, FENCED).doubt()

    def test_other_trouble_leaves_a_doubt(self) -> None:
        recording = Story().initialise(7).transact().transact(7, FAIL, f"{TIMED_OUT}; abort: {FENCED}")
        assert "KIP-360" in recording.doubt()

    @pytest.mark.parametrize("process", [7, 9])
    @pytest.mark.parametrize("after_s", [0.1, 2.3])
    def test_an_earlier_producer_that_may_raise_the_epoch_late_leaves_a_doubt(
        self, process: int, after_s: float
    ) -> None:
        recording = Story().initialise(process).transact(process, FAIL, TIMED_OUT, offset=None)
        recording.put("runner", OK, "mark", after_s=after_s)
        assert "arrived late" in recording.initialise(7).transact().transact(7, INFO, FENCED).doubt()

    def test_the_earlier_producer_may_still_have_its_transaction(self) -> None:
        asked = {"client": "kafka-python", "end": "commit", "mops": [["send", "log-0", 0, 1]]}
        recording = Story().initialise(9).put(9, INVOKE, "txn", "txn-0", asked).initialise(7).transact()
        recording.put(9, FAIL, "txn", "txn-0", asked, TIMED_OUT)
        assert "arrived late" in recording.transact(7, INFO, FENCED).doubt()

    def test_an_earlier_producer_whose_initialisation_took_long_leaves_a_doubt(self) -> None:
        recording = Story().put(9, INVOKE, "init-transactions", "txn-0", {"client": "kafka-python"})
        recording.put("runner", OK, "mark", after_s=4)
        recording.put(9, OK, "init-transactions", "txn-0", {"client": "kafka-python"})
        assert "earlier attempt" in recording.initialise(7).transact().transact(7, INFO, FENCED).doubt()

    @pytest.mark.parametrize(
        ("process", "error", "client", "after_s"),
        [
            pytest.param(7, TIMED_OUT, "kafka-python", 3.1, id="longer ago than a request is delivered"),
            pytest.param(7, FENCED, "kafka-python", 0.1, id="a fenced producer does not raise its epoch"),
            pytest.param(7, None, "kafka-python", 0.1, id="no error"),
            pytest.param(7, TIMED_OUT, "raw", 0.1, id="a script sends what is in it"),
        ],
    )
    def test_an_earlier_producer_without_such_a_request_explains_nothing(
        self, process: int, error: str | None, client: str, after_s: float
    ) -> None:
        recording = Story().initialise(process).transact(process, FAIL, error, client=client, offset=None)
        recording.put("runner", OK, "mark", after_s=after_s)
        recording.initialise(7).transact().transact(7, INFO, FENCED_PYTHON)
        anomalies = check_client_errors(recording.history()).anomalies
        assert anomalies[-1].illegal

    def test_errors_of_another_id_or_without_an_end_explain_nothing(self) -> None:
        recording = Story().put(9, INVOKE, "txn", "txn-1", {}).put(9, FAIL, "txn", "txn-1", {}, TIMED_OUT)
        recording.put(10, INVOKE, "txn", "txn-0", None).initialise(7).transact()
        anomaly = recording.transact(7, INFO, FENCED).anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    def test_errors_since_its_own_initialisation_explain_nothing(self) -> None:
        recording = (
            Story()
            .initialise(7)
            .transact()
            .transact(7, FAIL, TIMED_OUT, offset=None)
            .transact(7, INFO, FENCED)
        )
        anomaly = recording.anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    def test_a_request_to_raise_the_epoch_explains_no_forgotten_transaction(self) -> None:
        recording = Story().initialise(7).transact(7, FAIL, TIMED_OUT, offset=None).initialise(7).transact()
        anomaly = recording.transact(7, INFO, STATE).anomaly()
        assert anomaly is not None
        assert anomaly.illegal

    @pytest.mark.parametrize(
        ("level", "client", "version", "error", "doubted"),
        [
            (2, "kafka-clients", None, STATE, True),
            (2, "kafka-clients", 2, STATE, True),
            (2, "kafka-clients-other", 2, STATE, True),
            (2, "kafka-clients-other", 1, STATE, False),
            (1, "kafka-clients", None, STATE, False),
            (2, "kafka-python", None, STATE, False),
            (2, "kafka-clients", None, "INVALID_PRODUCER_ID_MAPPING: unknown", False),
        ],
    )
    def test_an_answer_that_hides_the_epoch_may_be_due_to_it(
        self, level: int, client: str, version: int | None, error: str, *, doubted: bool
    ) -> None:
        recording = Story().initialise(9).transact(9, FAIL, TIMED_OUT, offset=None).initialise(7).transact()
        recording.operations[0].value["features"] = {"transaction.version": level}
        recording.transact(7, INFO, error, client=client)
        if version is not None:
            recording.operations[-1].value["version"] = version
        anomaly = recording.anomaly()
        assert anomaly is not None
        assert anomaly.illegal is not doubted

    @pytest.mark.parametrize(
        ("outcome", "level", "doubted"), [(OK, 2, True), (INFO, 2, True), (FAIL, 2, False), (OK, 1, False)]
    )
    def test_the_epoch_is_hidden_if_the_version_may_have_been_raised_in_the_run(
        self, outcome: OperationType, level: int, *, doubted: bool
    ) -> None:
        recording = Story().initialise(9).transact(9, FAIL, TIMED_OUT, offset=None).initialise(7).transact()
        recording.put("admin", INVOKE, "update-feature", "transaction.version", {"level": level})
        recording.put("admin", outcome, "update-feature", "transaction.version", {"code": 0})
        anomaly = recording.transact(7, INFO, STATE, client="kafka-clients").anomaly()
        assert anomaly is not None
        assert anomaly.illegal is not doubted

    def test_a_slow_initialisation_leaves_a_doubt(self) -> None:
        recording = Story().initialise(7, took_s=1.5).transact().transact(7, INFO, FENCED)
        assert "took long" in recording.doubt()

    @pytest.mark.parametrize(
        ("took_s", "pause_s", "illegal"), [(1.0, 0.0, True), (1.1, 0.0, False), (1.1, 60.0, False)]
    )
    def test_the_first_transaction_is_judged_unless_the_initialisation_took_long(
        self, took_s: float, pause_s: float, *, illegal: bool
    ) -> None:
        """Nothing shows until the end of the first transaction that the coordinator knows the epoch."""
        recording = Story().initialise(7, took_s=took_s).put("runner", OK, "mark", after_s=pause_s)
        anomaly = recording.transact(7, INFO, FENCED).anomaly()
        assert anomaly is not None
        assert anomaly.illegal is illegal

    @pytest.mark.parametrize(("pause_s", "illegal"), [(1.5, False), (3.6, True)])
    def test_a_decided_transaction_rules_out_a_late_attempt_before_it(
        self, pause_s: float, *, illegal: bool
    ) -> None:
        """The initialisation took 1.5 s, so an earlier attempt may arrive within 2.5 s."""
        recording = Story().initialise(7, took_s=1.5).put("runner", OK, "mark", after_s=pause_s)
        anomaly = recording.transact().transact(7, INFO, FENCED).anomaly()
        assert anomaly is not None
        assert anomaly.illegal is illegal

    def test_a_transaction_that_need_not_have_been_there_leaves_a_doubt(self) -> None:
        recording = Story().initialise(7).transact().transact(7, INFO, STATE, offset=None)
        assert "may not have been ongoing" in recording.doubt()


class TestEvidence:
    def test_what_clients_recorded_is_needed(self) -> None:
        result = check_client_errors(Story().send((0, "ok")).history("worker-3"))
        assert result.validity is Validity.UNKNOWN

    @pytest.mark.parametrize("journal", ["worker-3", "nemesis", "admin", "replicas"])
    def test_what_may_permit_an_error_is_needed_where_there_is_one(self, journal: str) -> None:
        recording = Story().send((0, "ok")).send((0, "info"), error=LOST)
        result = check_client_errors(recording.history(journal))
        assert (result.validity, result.anomalies) == (Validity.UNKNOWN, ())
        assert journal in (result.unknown_because or "")

    def test_other_journals_are_needed_for_errors_alone(self) -> None:
        assert check_client_errors(Story().send((0, "ok")).history("nemesis")).validity is Validity.VALID

    def test_without_a_setup_there_is_a_doubt(self) -> None:
        recording = Story().send((0, "ok")).send((0, "info"), error=LOST)
        result = check_client_errors(History("run", "", recording.history().operations[1:]))
        assert result.validity is Validity.UNKNOWN
