"""A transaction's state may be lost where its coordinator's topic was permitted to lose it, not else."""

import msgspec
import pytest

from checkers.evidence.coordinators import number_of
from checkers.history.operations import History, OperationType
from checkers.transactional.transactions import check_transactions
from checkers.transactional.transactions.kafka.excuses import excused
from checkers.transactional.transactions.models.anomalies import ANOMALIES
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import READER, TOPIC, TOPIC_ID, AdminStory

STATES = "__transaction_state"
ENABLE = {"unclean.leader.election.enable": "true"}


def elected(**setup: object) -> AdminStory:
    """The coordinators' topic has one partition; its last leader but one was elected uncleanly."""
    story = AdminStory(**setup)
    story.record(1, "TOPIC_RECORD", {"name": STATES, "topicId": TOPIC_ID})
    partition = {"replicas": [1, 2, 3], "isr": [1], "leader": 1, "leaderEpoch": 0}
    story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition})
    story.changed(20, leader=-1)
    story.changed(30, isr=[2], leader=2, leaderRecoveryState=1)
    return story


def began(history: History) -> int:
    """Index of an operation that does not matter."""
    return next(operation.index for operation in history.operations)


@pytest.mark.parametrize(
    "identity",
    [
        "torn-transaction",
        "hanging-transaction",
        "zombie-accepted",
        "producer-epoch-given-again",
        "precommitted-read",
        "G1c",
    ],
)
@pytest.mark.parametrize("permitted", [True, False])
def test_a_finding_is_excused_where_a_state_may_be_lost(identity: str, *, permitted: bool) -> None:
    story = elected(config=ENABLE if permitted else {})
    story.both(25, 26, "init-transactions", {}, key="t-0")
    story.add(40, 7, OperationType.INVOKE, "txn", key="t-0", value={"mops": []})
    history = story.history()
    txn = next(operation.index for operation in history.of("txn"))
    given = [operation.index for operation in history.of("init-transactions")]
    anomaly = ANOMALIES[identity].found("it hangs", witness=(began(history), *given, txn))
    (judged,) = excused(history, [anomaly])
    assert judged.illegal is not (permitted and identity != "G1c")
    assert (judged.licence is None) is judged.illegal


@pytest.mark.parametrize(("at_ms", "illegal"), [(1_040, False), (1_060, True)])
def test_a_state_that_was_lost_before_a_transaction_began_excuses_nothing(
    at_ms: float, *, illegal: bool
) -> None:
    """Its coordinator was elected at 30 ms, and at 50 ms everybody knew: a second later nobody else acts."""
    story = elected(config=ENABLE)
    for seen_ms, leader, epoch in ((10, 1, 0), (50, 2, 2)):
        topics = {STATES: [[0, leader, epoch, [1, 2, 3], [leader], []]]}
        story.observe(seen_ms, "partitions", {"began_ns": seen_ms * 1_000_000, "topics": topics})
    story.add(at_ms, 7, OperationType.INVOKE, "txn", key="t-0", value={"mops": []})
    history = story.history()
    txn = next(operation.index for operation in history.of("txn"))
    (judged,) = excused(history, [ANOMALIES["torn-transaction"].found("torn", witness=(txn,))])
    assert judged.illegal is illegal


@pytest.mark.parametrize(
    ("given_ms", "accepted_ms", "keys", "illegal"),
    [
        pytest.param(25, 40, ("t-0", "t-0"), False, id="lost between"),
        pytest.param(25, 28, ("t-0", "t-0"), True, id="lost later"),
        pytest.param(25, None, ("t-0", "t-0"), False, id="nobody knows when it came about"),
        pytest.param(1_060, 1_070, ("t-0", "t-0"), True, id="lost before"),
        pytest.param(25, 40, ("t-0", "t-1"), True, id="of two ids"),
    ],
)
def test_an_epoch_may_be_lost_until_another_one_is_given(
    given_ms: float, accepted_ms: float | None, keys: tuple[str, str], *, illegal: bool
) -> None:
    """Elected at 30 ms and known everywhere at 50 ms: a second later a new epoch is kept."""
    story = elected(config=ENABLE)
    for seen_ms, leader, epoch in ((10, 1, 0), (50, 2, 2)):
        topics = {STATES: [[0, leader, epoch, [1, 2, 3], [leader], []]]}
        story.observe(seen_ms, "partitions", {"began_ns": seen_ms * 1_000_000, "topics": topics})
    story.both(given_ms, given_ms + 1, "init-transactions", {}, key=keys[0])
    story.both(given_ms + 2, accepted_ms, "init-transactions", {}, key=keys[1])
    history = story.history()
    witness = tuple(operation.index for operation in history.of("init-transactions"))
    (judged,) = excused(history, [ANOMALIES["producer-epoch-given-again"].found("again", witness=witness)])
    assert judged.illegal is illegal


def test_without_an_owner_any_partition_will_do() -> None:
    history = elected(config=ENABLE).history()
    (judged,) = excused(history, [ANOMALIES["hanging-transaction"].found("it hangs")])
    assert not judged.illegal


@pytest.mark.parametrize(
    ("key", "partition", "seen_ms", "illegal"),
    [
        pytest.param("t-1", 0, 700, False, id="its id is in the partition that lost records"),
        pytest.param("t-0", 0, 700, True, id="its id is in the other one"),
        pytest.param("t-0", 1, 700, False, id="no id wrote to the partition"),
        pytest.param("t-1", 0, 29, True, id="it hung before"),
        pytest.param("t-0", 1, 29, True, id="no id, and it hung before"),
    ],
)
def test_a_transaction_hangs_by_a_loss_of_an_id_that_wrote_to_its_partition(
    key: str, partition: int, seen_ms: int, *, illegal: bool
) -> None:
    """The id t-1 is in partition 0 of two, which elected a leader uncleanly at 30 ms."""
    assert [number_of(each, 2) for each in ("t-0", "t-1")] == [1, 0]
    story = elected(config=ENABLE)
    state = {"replicas": [1, 2, 3], "isr": [1], "leader": 1, "leaderEpoch": 0}
    story.record(31, "PARTITION_RECORD", {"partitionId": 1, "topicId": TOPIC_ID, **state})
    asked = {"client": "c", "end": "commit", "mops": [["send", TOPIC, partition, 7]], "consumed": []}
    story.add(21, 7, OperationType.INVOKE, "txn", key=key, value=asked)
    found = ANOMALIES["hanging-transaction"].found("it hangs", subject=f"{TOPIC}/0", time_ns=seen_ms * 10**6)
    (judged,) = excused(story.history(), [found])
    assert judged.illegal is illegal


def test_what_is_legal_already_keeps_its_licence() -> None:
    legal = msgspec.structs.replace(
        ANOMALIES["torn-transaction"].found("torn"), illegal=False, licence="somebody permitted it"
    )
    assert list(excused(elected(config=ENABLE).history(), [legal])) == [legal]


@pytest.mark.parametrize(("permitted", "validity"), [(True, Validity.UNKNOWN), (False, Validity.INVALID)])
def test_so_a_run_is_not_known_to_be_wrong(validity: Validity, *, permitted: bool) -> None:
    story = elected(config=ENABLE if permitted else {})
    asked = {"client": "c", "end": "commit", "mops": [["send", TOPIC, 0, 7]], "consumed": []}
    done = asked | {"mops": [["send", TOPIC, 0, 7, 0]], "ended": "commit"}
    story.add(40, 7, OperationType.INVOKE, "txn", key="t-0", value=asked)
    story.add(41, 7, OperationType.OK, "txn", key="t-0", value=done)
    for isolation, end in (("read_uncommitted", 2), ("read_committed", 1)):
        reader = READER | {"isolation": isolation, "partition": 0}
        answer = reader | {"start": 0, "end": end, "position": end, "records": [[0, [0], [7]]]}
        story.add(800, isolation, OperationType.INVOKE, "final-read", key=TOPIC, value=reader)
        story.add(801, isolation, OperationType.OK, "final-read", key=TOPIC, value=answer)
    result = check_transactions(story.history())
    assert (result.validity, result.counts["hanging-transaction"]) == (validity, 1)
    assert ("elected uncleanly" in str(result.unknown_because)) is permitted
    assert result.open_anomalies == (("hanging-transaction",) if permitted else ())
