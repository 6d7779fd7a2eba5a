"""What Kafka's DumpLogSegments prints, in the words of its versions."""

import pytest

from harness.kafka.segments.dump import by_file, dump_command, records

BATCH = (
    "baseOffset: {first} lastOffset: {first} count: 1 baseSequence: -1 lastSequence: -1 producerId: -1"
    " producerEpoch: -1 partitionLeaderEpoch: {epoch} isTransactional: false isControl: {control}"
    " deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1795254770271 size: 106 magic: 2"
    " compresscodec: none crc: 4123160097 isvalid: true\n"
)
RECORD = "| offset: {first} CreateTime: 1795254770271 keySize: 4 valueSize: 34 sequence: -1 headerKeys: []"


def printed(rest: str, *, control: bool, first: int = 54, epoch: int = 2) -> str:
    head = BATCH.format(first=first, epoch=epoch, control=str(control).lower())
    return head + RECORD.format(first=first) + f" {rest}\n"


@pytest.mark.parametrize(
    ("rest", "kind", "data"),
    [
        ("controlType: LEADER_CHANGE(2)", "LEADER_CHANGE", None),  # up to 4.0
        ('LeaderChange: {"leaderId":3}', "LEADER_CHANGE", {"leaderId": 3}),
        ('KRaftVersion {"version":0,"kRaftVersion":1}', "KRAFT_VERSION", {"version": 0, "kRaftVersion": 1}),
        ('KRaftVoters {"voters":[]}', "KRAFT_VOTERS", {"voters": []}),
        ('SnapshotHeader {"version":0}', "SNAPSHOT_HEADER", {"version": 0}),
        ("", "CONTROL", None),
    ],
)
def test_control_records(rest: str, kind: str, data: object) -> None:
    assert list(records(printed(rest, control=True))) == [(54, 2, kind, data)]


@pytest.mark.parametrize("space", [" ", ""])
def test_records_of_metadata(space: str) -> None:
    rest = "payload:" + space + '{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"leader":1}}'

    found = list(records(printed(rest, control=False)))

    assert found == [(54, 2, "PARTITION_CHANGE_RECORD", {"leader": 1})]


def test_records_that_do_nothing_are_left_out() -> None:
    text = printed('payload: {"type":"NO_OP_RECORD","version":0,"data":{}}', control=False)

    assert list(records(text)) == []


def test_several_in_one_batch_that_do_nothing_are_told() -> None:
    batch = (
        "baseOffset: {} lastOffset: {} count: {} baseSequence: -1 partitionLeaderEpoch: 2 isControl: false x"
    )
    nothing = '| offset: {} headerKeys: [] payload: {{"type":"NO_OP_RECORD","version":0,"data":{{}}}}'
    lines = [
        batch.format(5, 5, 1),
        nothing.format(5),
        batch.format(6, 7, 2),
        nothing.format(6),
        nothing.format(7),
    ]

    assert list(records("\n".join(lines))) == [(n, 2, "NO_OP_RECORD", None) for n in (6, 7)]


def test_a_record_without_content_has_none() -> None:
    text = printed('payload: {"type":"END_TRANSACTION_RECORD","version":0,"data":{}}', control=False)

    assert list(records(text)) == [(54, 2, "END_TRANSACTION_RECORD", None)]


@pytest.mark.parametrize("rest", ["payload at 54 could not be decoded", "payload: {not json}", ""])
def test_what_is_not_understood_is_said(rest: str) -> None:
    with pytest.raises(ValueError, match="DumpLogSegments printed"):
        list(records(printed(rest, control=False)))


def test_files_are_told_apart() -> None:
    output = (
        f"a logger's line\nDumping /a/0.log\n{printed('x', control=True)}Dumping /b/0.log\nLog starting\n"
    )

    assert by_file(output) == {
        "/a/0.log": f"Dumping /a/0.log\n{printed('x', control=True)}",
        "/b/0.log": "Dumping /b/0.log\nLog starting\n",
    }


@pytest.mark.parametrize(
    ("version", "tool"),
    [
        ("3.6.2", "kafka.tools.DumpLogSegments"),
        ("4.2.0", "kafka.tools.DumpLogSegments"),
        ("4.3.0", "org.apache.kafka.tools.DumpLogSegments"),
    ],
)
def test_the_tool_has_moved(version: str, tool: str) -> None:
    command = dump_command(version, ["/a", "/b"])

    assert command == [tool, "--cluster-metadata-decoder", "--files", "/a,/b"]
