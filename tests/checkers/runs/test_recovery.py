"""The recovery checker: what must work again after healing."""

from collections.abc import Callable

import msgspec
import pytest

from checkers.history.operations import History, OperationType
from checkers.history.recoveries import RecoveredPartition, Recovery
from checkers.runs.recovery import check_recovery
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import AdminStory

Story = Callable[..., History]

RECOVERED = "30 recover ok 900/60000 log-0/0:1:1,2:acked log-0/1:2:2,1:acked\n"


def test_all_partitions_back(story: Story) -> None:
    result = check_recovery(story(RECOVERED))
    assert result.validity is Validity.VALID
    assert result.figures == {"took_ms": 900}


@pytest.mark.parametrize(
    ("partition", "lack"),
    [
        ("log-0/1:-:1,2:acked", "no leader"),
        ("log-0/1:1:1:acked", "replicas [2] outside the ISR"),
        ("log-0/1:1:1,2:-", "no acknowledged write"),
    ],
)
def test_a_partition_that_lacks_something(story: Story, partition: str, lack: str) -> None:
    result = check_recovery(story(f"30 recover info 60000/60000 log-0/0:1:1,2:acked {partition}"))
    assert result.validity is Validity.INVALID
    (anomaly,) = result.anomalies
    assert anomaly.id == "not-recovered"
    assert anomaly.subject == "log-0/1"
    assert lack in anomaly.summary
    assert anomaly.witness == (2,)


@pytest.mark.parametrize(
    ("partition", "lack"),
    [
        ("log-0/1:1:1:acked", None),
        ("log-0/1:-:1:acked", "no leader"),
        ("log-0/1:1:1:-", "no acknowledged write"),
    ],
)
def test_what_a_dead_broker_held_can_not_come_back(story: Story, partition: str, lack: str | None) -> None:
    history = story(f"30 recover info 60000/60000 log-0/0:1:1,2:acked {partition}")
    operations = tuple(
        msgspec.structs.replace(o, value=o.value | {"dead": [2]}) if o.f == "recover" else o
        for o in history.operations
    )
    result = check_recovery(msgspec.structs.replace(history, operations=operations))
    assert result.validity is (Validity.UNKNOWN if lack is None else Validity.INVALID)
    because = "the nodes 2 were dead, and their data could not return"
    assert result.unknown_because == because
    found = [one.summary for one in result.anomalies]
    assert len(found) == (0 if lack is None else 1)
    assert all(str(lack) in reason and "[2]" not in reason for reason in found)


def test_every_partition_is_reported(story: Story) -> None:
    result = check_recovery(story("30 recover info 60004/60000 log-0/0:-:1:acked log-0/1:-:1:-"))
    assert result.counts == {"not-recovered": 2}
    assert [one.summary for one in result.anomalies] == [
        "log-0/0 had no leader and replicas [2] outside the ISR 60.004 s after healing; 60 s are allowed.",
        (
            "log-0/1 had no leader, replicas [2] outside the ISR and no acknowledged write "
            "60.004 s after healing; 60 s are allowed."
        ),
    ]


def test_a_partition_that_recovery_left_out_makes_it_unknown(story: Story) -> None:
    topics = [{"name": "log-0", "partitions": 3}]
    result = check_recovery(story(RECOVERED, setup={"topics": topics}))
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == "recovery did not check log-0/2"


def test_all_partitions_of_the_setup_looked_at(story: Story) -> None:
    topics = [{"name": "log-0", "partitions": 2}]
    assert check_recovery(story(RECOVERED, setup={"topics": topics})).validity is Validity.VALID
    assert check_recovery(story(RECOVERED, without_setup=True)).validity is Validity.VALID


@pytest.mark.parametrize(
    ("read", "leader", "validity"),
    [
        (False, "2", Validity.VALID),
        (True, "2", Validity.UNKNOWN),
        (None, "2", Validity.UNKNOWN),
        (False, "-", Validity.INVALID),
    ],
)
def test_only_a_topic_that_is_not_read_needs_no_write(
    *, story: Story, read: bool | None, leader: str, validity: Validity
) -> None:
    """Final readers would not show what became of the written record; all else is required of it too."""
    topics: list[dict[str, object]] = [{"name": "log-0", "partitions": 1}]
    if read is not None:
        topics.append({"name": "queue", "partitions": 1, "loaded": False, "read": read})
    text = f"30 recover ok 900/60000 log-0/0:1:1,2:acked queue/0:{leader}:2,1:untried\n"
    result = check_recovery(story(text, setup={"topics": topics}))
    assert result.validity is validity
    assert (result.unknown_because == "recovery tried no write to queue/0") is (validity is Validity.UNKNOWN)


def test_too_late_is_not_recovered(story: Story) -> None:
    result = check_recovery(story("99 recover ok 61000/60000 log-0/0:1:1,2:acked"))
    assert result.counts == {"not-recovered": 1}


@pytest.mark.parametrize(
    "how", ["ok 61000/60000/12 log-0/0:1:1,2:acked", "info 60000/60000/39.4 log-0/0:1:1:acked"]
)
def test_what_a_crowded_host_delays_proves_nothing(story: Story, how: str) -> None:
    result = check_recovery(story(f"99 recover {how}"))
    assert result.validity is Validity.UNKNOWN
    assert "tasks for each CPU" in (result.unknown_because or "")
    assert [anomaly.illegal for anomaly in result.anomalies] == [False]


@pytest.mark.parametrize(
    ("how", "validity"),
    [
        ("ok 61000/60000/9.9 log-0/0:1:1,2:acked", Validity.INVALID),
        ("ok 900/60000/99 log-0/0:1:1,2:acked", Validity.VALID),
    ],
)
def test_a_crowd_excuses_what_is_late_and_nothing_else(story: Story, how: str, validity: Validity) -> None:
    assert check_recovery(story(f"99 recover {how}")).validity is validity


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "no recover operation", id="none"),
        pytest.param("30 recover info 0/60000", "it took too long", id="nothing reported"),
        pytest.param("30 recover ok 0/60000", "no reason given", id="nothing reported, no reason"),
        pytest.param("30 recover ok 900/60000 none", "no partition", id="no partitions"),
        pytest.param(
            "30 recover info 900/60000 log-0/0:1:1,2:acked", "without success", id="info, yet all is well"
        ),
    ],
)
def test_unknown(story: Story, text: str, why: str) -> None:
    result = check_recovery(story(text))
    assert result.validity is Validity.UNKNOWN
    assert why in (result.unknown_because or "")


def unregistered(
    partition: RecoveredPartition,
    *,
    again: bool = False,
    answered: bool = True,
    down: tuple[str, int] | None = None,
) -> History:
    """Broker 2 is unregistered; then one partition has not recovered in time.

    Args:
        partition: its state.
        again: whether the broker registers again.
        answered: whether the request has an answer.
        down: a fault of a node since the beginning, and when its heal begins.
    """
    recording = AdminStory()
    kinds = ("REGISTER", "UNREGISTER", *(("REGISTER",) if again else ()))
    for at_ms, kind in enumerate(kinds, start=1):
        recording.record(at_ms * 3, f"{kind}_BROKER_RECORD", {"brokerId": 2})
    recording.both(5, 7 if answered else None, "unregister-broker", {"to": "n1"}, key=2)
    if down is not None:
        recording.fault(1, down[1], "kill", down[0])
    value = Recovery(partitions=(partition,), took_ms=60_000, bound_ms=60_000)
    recording.both(20, 30, "recover", None, key=None)
    history = recording.history()
    operations = tuple(
        msgspec.structs.replace(o, type=OperationType.INFO, value=msgspec.to_builtins(value))
        if o.f == "recover" and o.type is OperationType.OK
        else o
        for o in history.operations
    )
    return msgspec.structs.replace(history, operations=operations)


@pytest.mark.parametrize(
    ("leader", "isr", "write_acked", "again", "illegal"),
    [
        pytest.param(1, (1, 3), True, False, False, id="only its replica is missing"),
        pytest.param(1, (1, 3), True, True, True, id="it registered again"),
        pytest.param(1, (1,), True, False, True, id="another one is missing too"),
        pytest.param(None, (1, 3), True, False, True, id="no leader"),
        pytest.param(1, (1, 3), False, False, True, id="no write"),
    ],
)
def test_a_broker_that_was_unregistered_while_it_ran_does_not_return(
    *, leader: int | None, isr: tuple[int, ...], write_acked: bool, again: bool, illegal: bool
) -> None:
    partition = RecoveredPartition("log-0", 0, leader, isr, (1, 2, 3), write_acked)
    result = check_recovery(unregistered(partition, again=again))
    (anomaly,) = result.anomalies
    assert anomaly.illegal is illegal
    assert result.validity is (Validity.INVALID if illegal else Validity.UNKNOWN)
    assert ("broker 2 was unregistered" in (anomaly.licence or "")) is not illegal


@pytest.mark.parametrize(
    ("down", "answered", "illegal"),
    [
        pytest.param(("n2", 8), True, True, id="it started after that"),
        pytest.param(("n2", 6), True, False, id="it may have started before"),
        pytest.param(("n3", 8), True, False, id="another one started"),
        pytest.param(("n2", 8), False, False, id="the request may have been carried out later"),
    ],
)
def test_a_broker_that_starts_after_its_registration_was_removed_returns(
    down: tuple[str, int], *, answered: bool, illegal: bool
) -> None:
    partition = RecoveredPartition("log-0", 0, 1, (1, 3), (1, 2, 3), write_acked=True)
    result = check_recovery(unregistered(partition, answered=answered, down=down))
    assert [anomaly.illegal for anomaly in result.anomalies] == [illegal]


@pytest.mark.parametrize("lost", ["admin", "moves"])
def test_the_request_that_removed_a_registration_may_be_missing(lost: str) -> None:
    partition = RecoveredPartition("log-0", 0, 1, (1, 3), (1, 2, 3), write_acked=True)
    whole = unregistered(partition)
    kept = tuple(operation for operation in whole.operations if operation.f != "unregister-broker")
    unasked = msgspec.structs.replace(whole, operations=kept)
    assert [anomaly.illegal for anomaly in check_recovery(unasked).anomalies] == [True]
    holed = msgspec.structs.replace(unasked, damage=("gone",), lacking=frozenset({lost}))
    assert [anomaly.illegal for anomaly in check_recovery(holed).anomalies] == [False]
