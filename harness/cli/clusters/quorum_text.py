"""The output of ``krucible quorum``: lines of text, one fact or one row each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from checkers.history.operations import OperationType
from harness.administration.quorum_view import QuorumReplica, QuorumView
from harness.administration.voters import AnswerMeaning, VoterAnswer, VoterEndpoint, VoterKey
from results.markup.cleaning import clean

if TYPE_CHECKING:  # loads numba, half a second
    from harness.administration.control_records import ControlRecord, Difference, NodeControlRecords

_HEAD = ("NODE", "STATUS", "DIRECTORY ID", "LOG END", "LAG", "LAST FETCH", "CAUGHT UP", "ENDPOINT", "")
_UNKNOWN = "?"
_TEXT_MAX = 300
_DONE = {"add": "is a voter now", "remove": "is a voter no longer"}
_MAY = {"add": "it may still become one", "remove": "it may still cease to be one"}


def status_lines(view: QuorumView) -> list[str]:
    """The quorum as a whole."""
    followers = [replica for replica in view.voters if replica.id != view.leader_id]
    lags = [replica.lag for replica in followers if replica.lag is not None]
    ready = [replica.id for replica in view.observers if replica.could_vote]
    facts = (
        ("cluster id", view.cluster_id or _UNKNOWN),
        ("kraft.version", _number(view.kraft_version)),
        ("leader", f"{view.leader_id} in epoch {view.leader_epoch}"),
        ("high watermark", "none in this epoch yet" if view.high_watermark is None else view.high_watermark),
        ("voters", f"{_ids(view.voters)} (majority {view.majority})"),
        ("observers", _ids(view.observers)),
        ("could be voters", ", ".join(map(str, ready)) or "none"),
        ("greatest lag", f"{max(lags)} records" if lags else _UNKNOWN if followers else "0 records"),
    )
    return [f"{name:<17}{value}" for name, value in facts]


def replication_lines(view: QuorumView) -> list[str]:
    """One row per replica; remarks about observers are at the end."""
    return _columns([_HEAD, *map(_row, view.replicas)])


def outcome_lines(
    verb: str, voter: VoterKey, answer: VoterAnswer, meaning: AnswerMeaning, asked: str
) -> list[str]:
    """The outcome of a change, whether it may still happen, and the reason."""
    who = f"node {voter.id} with directory {voter.directory_id}"
    if meaning.outcome is OperationType.OK:
        return [f"{who} {_DONE[verb]} ({answer.took_ms} ms, asked {asked})"]
    message = f": {clean(answer.message, _TEXT_MAX)}" if answer.message else ""
    fate = "it was not done" if meaning.outcome is OperationType.FAIL else _MAY[verb]
    return [
        f"{who}: {meaning.name} ({answer.code}) after {answer.took_ms} ms from {asked}{message}",
        f"  {fate}: {meaning.reason}",
    ]


def records_lines(logs: "Mapping[str, NodeControlRecords]", difference: "Difference | None") -> list[str]:
    """Every control record, the nodes that have it, and the first difference between nodes."""
    lines = [_log_line(node, log) for node, log in logs.items()]
    readable = {node: log for node, log in logs.items() if log.error is None}
    rows = [
        ("OFFSET", "EPOCH", "RECORD", "HELD BY", "CONTENT"),
        *_record_rows({node: log.records for node, log in readable.items()}),
    ]
    lines += ["", *_columns(rows)]
    for name in sorted({name for log in readable.values() for name in log.snapshots}):
        held = {node: log.snapshots[name] for node, log in readable.items() if name in log.snapshots}
        lines += ["", f"snapshot {name}", *_columns(list(_record_rows(held)))]
    return [*lines, "", *_difference_lines(difference, len(readable))]


def _record_rows(held: "Mapping[str, Sequence[ControlRecord]]") -> Iterator[tuple[str, ...]]:
    """Records by offset; a record that several nodes have is listed once."""
    holders: dict[tuple[int, str], list[str]] = {}
    alike: dict[tuple[int, str], ControlRecord] = {}
    for node, records in held.items():
        for record in records:
            key = (record.offset, repr(record))
            alike[key] = record
            holders.setdefault(key, []).append(node)
    for key in sorted(alike):
        record = alike[key]
        by = "all" if len(holders[key]) == len(held) > 1 else " ".join(holders[key])
        yield str(record.offset), str(record.epoch), record.kind, by, _content(record)


def _difference_lines(difference: "Difference | None", nodes: int) -> list[str]:
    if nodes <= 1:
        return ["no two nodes to compare"]
    if difference is None:
        return [f"{nodes} nodes agree wherever two of them have the same offset"]
    where = "the log" if difference.snapshot is None else f"snapshot {difference.snapshot}"
    lines = [f"the nodes differ at offset {difference.offset} of {where}:"]
    for node, record in difference.seen.items():
        epoch = difference.epochs.get(node, record.epoch if record else -1)
        what = f"{record.kind} {_content(record)}" if record else "no control record"
        lines.append(f"  {node}: epoch {epoch}, {what}")
    because = (
        "records of one epoch contradict each other, which must never happen"
        if difference.is_contradiction
        else "the epochs differ: the older record is uncommitted, "
        "and its node truncates it once it knows the leader"
    )
    return [*lines, f"  {because}"]


def _log_line(node: str, log: "NodeControlRecords") -> str:
    if log.error is not None:
        return f"{node}: can't be read: {clean(log.error, _TEXT_MAX)}"
    damage = "".join(f"; damage in {file} at {at}: {reason}" for file, at, reason in log.damage)
    many = "" if len(log.snapshots) == 1 else "s"
    return f"{node}: offsets {log.start} to {log.end}, {len(log.snapshots)} snapshot{many}{damage}"


def _content(record: "ControlRecord") -> str:
    content = record.content
    if record.error is not None or content is None:
        return clean(record.error or "", _TEXT_MAX)
    if "voters" in content and "leader_id" in content:
        voters, granting = (_keys(content[name]) for name in ("voters", "granting_voters"))
        return f"leader {content['leader_id']}, voters {voters}, granted by {granting}"
    if "voters" in content:
        return ", ".join(map(_voter, content["voters"]))
    return str(content["kraft_version"])


def _voter(voter: Mapping[str, Any]) -> str:
    return f"{voter['id']} {voter['directory_id']} at {_places([tuple(each) for each in voter['endpoints']])}"


def _keys(keys: Sequence[Sequence[Any]]) -> str:
    return " ".join(f"{number}{f' {directory}' if directory else ''}" for number, directory in keys)


def _row(replica: QuorumReplica) -> tuple[str, ...]:
    mark = {True: "could be a voter: ", False: "no voter: ", None: ""}[replica.could_vote]
    return (
        str(replica.id),
        replica.status,
        replica.directory_id or _UNKNOWN,
        _number(replica.log_end_offset),
        _number(replica.lag),
        _age(replica.last_fetch_ago_ms),
        _age(replica.last_caught_up_ago_ms),
        _places(replica.endpoints),
        f"{mark}{replica.because}",
    )


def _places(endpoints: Sequence[VoterEndpoint | tuple[Any, ...]]) -> str:
    return " ".join(f"{name}://{host}:{port}" for name, host, port in endpoints) or _UNKNOWN


def _ids(replicas: Sequence[QuorumReplica]) -> str:
    return ", ".join(str(replica.id) for replica in replicas) or "none"


def _number(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)


def _age(milliseconds: int | None) -> str:
    return _UNKNOWN if milliseconds is None else f"{milliseconds} ms"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
