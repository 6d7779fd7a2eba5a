"""What was reported as committed, and what the voters' metadata logs have of it at the end."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Anomaly
from tests.checkers.logs.replicas.replica_histories import Batch, metadata

Story = Callable[..., History]

READ_S = 20
TOLD = "1 c1 leads 2 hw=9 end=9 c2=0.9@9 c3=0.9@7\n"
SHORT = [Batch(0, 5, 1), Batch(5, 2, 2)]
WHOLE = [*SHORT, Batch(7, 2, 2)]
REPLACED = [*SHORT, Batch(7, 6, 3)]


def decoded(log: Sequence[Batch], **fields: Any) -> dict[str, Any]:
    """A log of which each batch has a record that was decoded."""
    records = [[batch.last_offset, batch.leader_epoch, "TOPIC_RECORD", {}] for batch in log]
    return metadata(log, **{"records": records, **fields})


def read(history: History, *logs: Sequence[Batch] | dict[str, Any], read_s: float = READ_S) -> History:
    """The history, at whose end the logs of c1, c2 and so on were read."""
    values = [log if isinstance(log, dict) else decoded(log) for log in logs]
    last = len(history.operations)
    operations = [
        Operation(
            last + i,
            int((read_s + 1) * 1e9),
            "observer-replicas",
            OperationType.OK,
            "observe",
            "metadata-log",
            value | {"began_ns": int(read_s * 1e9)},
            node=f"c{i + 1}",
        )
        for i, value in enumerate(values)
    ]
    return msgspec.structs.replace(history, operations=(*history.operations, *operations))


def lost(history: History) -> list[Anomaly]:
    return [a for a in check_quorum(history).anomalies if a.id == "metadata-committed-lost"]


@pytest.mark.parametrize(
    ("logs", "behind"),
    [
        ([SHORT, SHORT, SHORT], "up to 7, where it ends"),
        ([SHORT, WHOLE, SHORT], "up to 7, where it ends"),
        ([REPLACED, REPLACED, REPLACED], "up to 7, where a later epoch begins"),
        ([REPLACED, WHOLE, SHORT], "up to 7, where a later epoch begins"),
    ],
)
def test_a_majority_lacks_what_was_committed(story: Story, logs: list[list[Batch]], behind: str) -> None:
    (found,) = lost(read(story(TOLD), *logs))

    assert found.illegal
    assert found.subject == "epoch 2, at the end"
    assert found.witness == (1, *(2 + i for i, log in enumerate(logs) if log != WHOLE))
    assert found.explanation[0] == "At 1.000 s c1 led epoch 2: high watermark 9, log end 9."
    assert found.explanation[1] == f"Read from 20.000 s on, the log of c1 has that {behind}."


@pytest.mark.parametrize(
    "logs",
    [
        pytest.param([WHOLE, WHOLE, SHORT], id="a minority lags"),
        pytest.param([WHOLE, REPLACED, WHOLE], id="one was replaced"),
        pytest.param([SHORT, WHOLE], id="one was not read"),
        pytest.param([SHORT, decoded(SHORT, error="gone"), WHOLE], id="one could not be read"),
        pytest.param([SHORT, decoded(SHORT, decoder_error="odd"), WHOLE], id="nor be decoded"),
        pytest.param([SHORT, decoded(SHORT, tail=["0.log", 9, 9, "cut"]), WHOLE], id="has a torn end"),
        pytest.param([SHORT, decoded(SHORT, corrupt=[["0.log", 9, 9, "crc"]]), WHOLE], id="is damaged"),
        pytest.param([[], [], []], id="nothing is there"),
        pytest.param([[Batch(30, 1, 5)], [Batch(30, 1, 5)], WHOLE], id="a snapshot has it"),
    ],
)
def test_where_a_majority_may_have_it_nothing_is_found(story: Story, logs: list[Any]) -> None:
    assert lost(read(story(TOLD), *logs)) == []


def test_a_log_of_which_decoded_records_are_missing_proves_nothing(story: Story) -> None:
    assert len(lost(read(story(TOLD), SHORT, SHORT, WHOLE))) == 1
    assert lost(read(story(TOLD), SHORT, decoded(SHORT, records=[]), WHOLE)) == []


def test_logs_that_were_read_before_say_nothing(story: Story) -> None:
    assert lost(read(story(TOLD), SHORT, SHORT, SHORT, read_s=0.5)) == []


def test_an_answer_that_contradicts_itself_proves_nothing(story: Story) -> None:
    unknown_end = "1 c1 leads 2 hw=9 end=-1 c2=0.9@9 c3=0.9@7\n"
    assert len(lost(read(story(unknown_end), SHORT, SHORT, SHORT))) == 1
    assert lost(read(story("1 c1 leads 2 hw=9 end=8\n"), SHORT, SHORT, SHORT)) == []


def test_each_epoch_has_its_highest_mark(story: Story) -> None:
    text = "1 c1 leads 1 hw=5 end=5\n2 c1 leads 2 hw=8 end=9\n3 c1 leads 2 hw=9 end=9\n"
    (found,) = lost(read(story(text), SHORT, SHORT, SHORT))
    assert found.witness[0] == 3


def test_of_each_set_of_voters_since_a_majority_must_lack_it(story: Story) -> None:
    dynamic = {"features": {"kraft.version": 1}}
    before = "1 c1 leads 2 hw=9 disk=d1 end=9 c2/d2=0.9@9\n"
    grown = "3 c1 leads 2 hw=9 disk=d1 end=9 c2/d2=2.9@9 c3/d3=2.9@9 c9/d9=2.9@9\n"
    change = "1.5 add 3/d3 ok 1.6\n1.7 add 9/d9 ok 1.8\n"
    assert len(lost(read(story(before, setup=dynamic), SHORT, SHORT, SHORT))) == 1
    assert lost(read(story(before + change + grown, setup=dynamic), SHORT, SHORT, WHOLE)) == []
    assert len(lost(read(story(before + change + grown, setup=dynamic), SHORT, SHORT, SHORT))) == 1


@pytest.mark.parametrize("kind", ["wipe-disk", "power-loss"])
def test_a_disk_that_was_hit_may_have_had_it(story: Story, kind: str) -> None:
    hit = f"4 f1 {kind} c2 ok\n6 f1 heal ok\n"
    assert lost(read(story(TOLD + hit), SHORT, SHORT, WHOLE)) == []


def test_two_disks_that_lack_it_are_no_loss_by_one_that_was_wiped(story: Story) -> None:
    wiped = "4 f1 wipe-disk c3 ok\n6 f1 heal ok\n"
    (found,) = lost(read(story(TOLD + wiped), SHORT, SHORT, SHORT))
    assert not found.illegal
    assert found.licence == "the disks of c3 had been wiped"


def test_where_it_is_not_known_who_voted_nothing_is_found(story: Story) -> None:
    history = read(story(TOLD), SHORT, SHORT, SHORT)
    assert len(lost(history)) == 1
    assert lost(msgspec.structs.replace(history, lacking=frozenset({"admin"}))) == []
