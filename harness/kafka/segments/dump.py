"""What Kafka's DumpLogSegments prints of metadata logs, taken apart: files, records, control records."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.vocabulary.version import parse_version

_FIRST_IN_JAVA = (4, 3, 0)
"""KAFKA-14579: the tool has moved."""
_FILE = re.compile(r"^Dumping (?P<file>\S+)$")
_BATCH = re.compile(
    r"^baseOffset: \d+ .*partitionLeaderEpoch: (?P<epoch>-?\d+) .*isControl: (?P<control>\w+)"
)
_SEVERAL = re.compile(r"^baseOffset: \d+ .*\bcount: (?!1 )\d+ ")
_RECORD = re.compile(r"^\| offset: (?P<offset>\d+) .*?headerKeys: \[[^]]*\] ?(?P<rest>.*)$")
_PAYLOAD = re.compile(r"^payload: ?(?P<json>\{.*\})$")
_KIND = re.compile(r"^controlType: (?P<name>\w+)\(-?\d+\)$")
_CONTROL = re.compile(r"^(?P<name>\w+):? ?(?P<json>\{.*\})$")
_SMALL_LETTER_THEN_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
UNNAMED = "CONTROL"
"""Type of a control record that this version of the tool prints nothing of."""
NO_OP = "NO_OP_RECORD"
Record = tuple[int, int, str, Any]
"""Offset, epoch, type, content."""


def dump_command(version: str, files: list[str]) -> list[str]:
    """Class and arguments that make Kafka's tool print these files, which are metadata logs or snapshots."""
    package = "org.apache.kafka.tools" if parse_version(version) >= _FIRST_IN_JAVA else "kafka.tools"
    return [f"{package}.DumpLogSegments", "--cluster-metadata-decoder", "--files", ",".join(files)]


def by_file(output: str) -> dict[str, str]:
    """The part of the output that tells of each file, in the order of the output."""
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in output.splitlines(keepends=True):
        head = _FILE.match(line)
        if head:
            lines = parts.setdefault(head["file"], [])
        lines.append(line)
    return {file: "".join(part) for file, part in parts.items()}


def records(output: str) -> Iterator[Record]:
    """All records but those that do nothing and stand alone in their batches, in their order.

    A leader that is held up writes several of these in one batch.  They are told, so that a batch of several
    of which nothing is told is one that could not be decoded.

    Raises:
        ValueError: a line of a record is not what the tool prints in any version that is known here.
    """
    epoch, is_control, several = -1, False, False
    for line in output.splitlines():
        batch = _BATCH.match(line)
        if batch:
            epoch, is_control = int(batch["epoch"]), batch["control"] == "true"
            several = _SEVERAL.match(line) is not None
        record = _RECORD.match(line)
        if record:
            kind, content = _named(record["rest"].strip(), is_control=is_control)
            if several or kind != NO_OP:
                yield int(record["offset"]), epoch, kind, content


def _named(rest: str, *, is_control: bool) -> tuple[str, Any]:
    """Type and content of a record."""
    if is_control:
        return _named_control(rest)
    payload = _PAYLOAD.match(rest)
    if payload is None:
        raise ValueError(f"DumpLogSegments printed a record in words that are not known: {rest[:200]!r}")
    content = _decoded(payload["json"])
    return str(content.get("type", "")), content.get("data") or None


def _named_control(rest: str) -> tuple[str, Any]:
    kind = _KIND.match(rest)
    if kind:
        return kind["name"], None
    control = _CONTROL.match(rest)
    return (_as_type(control["name"]), _decoded(control["json"])) if control else (UNNAMED, None)


def _as_type(name: str) -> str:
    """``LeaderChange`` as ``LEADER_CHANGE``, the way in which other records are named."""
    return _SMALL_LETTER_THEN_CAPITAL.sub("_", name.replace("KRaft", "Kraft")).upper()


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"DumpLogSegments printed no JSON ({error}): {text[:200]!r}") from None
