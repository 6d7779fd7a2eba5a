"""``krucible reassign``: moves partitions between brokers, and shows the progress of each request."""

import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import click
import msgspec

from checkers.history.error_codes import named_code
from harness.administration.addressing import Reach, reach_options
from harness.administration.reassignment_plan import read_plan
from harness.administration.reassignments import (
    ReassignmentAnswer,
    alter_reassignments,
    list_reassignments,
)
from harness.administration.request_file import RequestFile, place_of
from harness.administration.requests import (
    FINISHED,
    KEEP_FINISHED_S,
    PartitionStatus,
    ReassignmentState,
    Request,
    RequestedPartition,
    Requests,
    abandoned,
    answered,
    cancelled,
    cancelling,
    concluded,
    find,
    freed,
    holder,
    opened,
    remembered,
)
from harness.administration.sighting import cluster_of, status_of
from harness.administration.throttles import Move, Throttle, remove_throttle, set_throttle, throttle_for
from harness.cli.clusters.reassign_text import as_json, lines, requested_at, view_for
from harness.cli.options.shared import WholeNumber
from harness.cli.parsing import Group
from harness.errors import KrucibleError
from harness.kafka.wire import WireError

FOLLOW_INTERVAL_S = 0.5
TIMEOUT_MS = 30_000
_DONE, _OTHERWISE, _NOT_YET = 0, 1, 2

P = ParamSpec("P")
R = TypeVar("R")


class RequestStore(NamedTuple):
    """Creates and stores requests for one cluster."""

    reach: Reach
    file: RequestFile

    def requests(self) -> Requests:
        """Return all stored requests. Requests that ended too long ago are removed."""

        def forget(requests: Requests) -> tuple[Requests, Requests]:
            kept = remembered(requests, _now_s())
            return kept, kept

        return self.file.update(forget)

    def change(self, change: Callable[[Requests], Requests]) -> Requests:
        """Apply a function to the stored requests, store its result and return it."""

        def both(requests: Requests) -> tuple[Requests, Requests]:
            following = change(requests)
            return following, following

        return self.file.update(both)

    def statuses(self, request: Request) -> tuple[PartitionStatus, ...]:
        """Read the statuses of a request, and store the final ones."""
        seen = status_of(self.reach, request, self.requests())
        self.change(lambda now: concluded(now, request.id, seen, _now_s()))
        return seen


def desk_options(function: Callable[Concatenate[RequestStore, P], R]) -> Callable[P, R]:
    """Add the options that name a cluster. The command receives a `RequestStore` as its first argument."""

    @wraps(function)
    def at_desk(reach: Reach, /, *args: P.args, **given: P.kwargs) -> R:
        cluster_id = cluster_of(reach, ()).cluster_id or "unknown"
        desk = RequestStore(reach, RequestFile(place_of(reach.folder, cluster_id)))
        return function(desk, *args, **given)

    return reach_options(at_desk)


request_option = click.option(
    "--request",
    "number",
    type=WholeNumber(1),
    metavar="N",
    help="Number of the request; by default the newest.",
)
json_option = click.option("--json", "json_", is_flag=True, help="Print JSON.")


@click.group(cls=Group)
def reassign() -> None:
    """Reassign partitions (KIP-455); every request has a number, and its progress can be shown."""


@reassign.command()
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    help="The plan, in the JSON that kafka-reassign-partitions.sh takes.",
)
@click.option(
    "--throttle",
    type=WholeNumber(1),
    metavar="BYTES/S",
    help="Limit of each broker's replication traffic, until krucible reassign verify removes it.",
)
@click.option(
    "--keep-finished-s",
    type=WholeNumber(0),
    default=KEEP_FINISHED_S,
    show_default=True,
    help="How long krucible remembers the request after it has ended.",
)
@desk_options
def execute(desk: RequestStore, path: Path, throttle: int | None, keep_finished_s: int) -> int:
    """Start the reassignments of a plan; prints the number of the request."""
    plan = read_plan(path)
    topics = cluster_of(desk.reach, (one.topic for one in plan)).topics
    before = {(t.name, one.partition): one.replicas for t in topics.values() for one in t.partitions}
    asked = tuple(RequestedPartition(*one, before.get((one.topic, one.partition), ())) for one in plan)
    moves = [Move(one.topic, one.partition, one.before, one.wanted) for one in asked if one.before]
    limit = None if throttle is None or not moves else throttle_for(moves, throttle)
    request = desk.file.update(
        lambda now: opened(remembered(now, _now_s()), asked, limit, _now_s(), keep_finished_s)
    )
    click.echo(f"request {request.id}")
    if limit is not None:
        _limit(desk, request, limit)
    answer = _send(desk, request, [(one.topic, one.partition, one.wanted) for one in asked])
    desk.change(lambda now: answered(now, request.id, answer))
    _print_answer(answer)
    following = find(desk.file.read(), request.id)
    if all(one.ended for one in following.partitions):
        _free(desk, following)
    return _OTHERWISE if answer.code or any(one.code for one in answer.results) else _DONE


@reassign.command()
@request_option
@json_option
@click.option("--follow", is_flag=True, help="Show the progress until all of the request has ended.")
@desk_options
def progress(desk: RequestStore, *, number: int | None, json_: bool, follow: bool) -> int:
    """Show the progress of a request, for each partition and each broker that receives it."""
    request = find(desk.requests(), number)
    if not follow:
        statuses = desk.statuses(request)
        click.echo(as_json(request, statuses) if json_ else "\n".join(lines(request, statuses)))
        return _DONE
    with view_for(sys.stdout, as_json=json_) as view:
        while True:
            statuses = desk.statuses(find(desk.file.read(), request.id))
            view.show(request, statuses)
            if not any(status.state is ReassignmentState.ONGOING for status in statuses):
                return _DONE
            time.sleep(FOLLOW_INTERVAL_S)


@reassign.command()
@request_option
@json_option
@desk_options
def verify(desk: RequestStore, *, number: int | None, json_: bool) -> int:
    """Report whether a request is complete; remove its throttles once nothing of it is in progress."""
    request = find(desk.requests(), number)
    statuses = desk.statuses(request)
    click.echo(as_json(request, statuses) if json_ else "\n".join(lines(request, statuses)))
    if not all(status.state in FINISHED for status in statuses):
        click.echo("not finished" + ("; its throttles stay" if request.throttle else ""), err=json_)
        return _NOT_YET
    _free(desk, request, to_stderr=json_)
    return _DONE if all(status.state is ReassignmentState.COMPLETE for status in statuses) else _OTHERWISE


@reassign.command()
@request_option
@desk_options
def cancel(desk: RequestStore, number: int | None) -> int:
    """Cancel the reassignments of a request; Kafka restores the replicas that were there before."""
    requests = desk.requests()
    request = find(requests, number)
    own = [asked for asked in request.partitions if holder(requests, asked.place) == request.id]
    for asked in request.partitions:
        if asked not in own:
            other = holder(requests, asked.place)
            click.echo(f"  {asked.topic}/{asked.partition}  left alone: " + _why_not(asked, other))
    if not own:
        return _OTHERWISE
    places = [asked.place for asked in own]
    desk.change(lambda now: cancelling(now, request.id, places))
    answer = _send(desk, request, [(topic, partition, None) for topic, partition in places])
    desk.change(lambda now: cancelled(now, request.id, answer))
    _print_answer(answer)
    following = find(desk.file.read(), request.id)
    if all(status.state in FINISHED for status in desk.statuses(following)):
        _free(desk, following)
    return _OTHERWISE if answer.code or any(one.code for one in answer.results) else _DONE


@reassign.command("list")
@json_option
@desk_options
def list_command(desk: RequestStore, *, json_: bool) -> None:
    """List the stored requests, and every reassignment in progress in the cluster."""
    requests = desk.requests()
    try:
        ongoing = list_reassignments(desk.reach.a_broker())
    except WireError as error:
        raise _silent(error, "try again") from error
    if json_:
        click.echo(msgspec.json.encode({"requests": requests.requests, "ongoing": ongoing}).decode())
        return
    for request in requests.requests:
        ended = "ended" if request.finished_at_s is not None else "not known to have ended"
        limit = f", throttled to {request.throttle.bytes_per_s} bytes/s" if request.throttle else ""
        many = f"{len(request.partitions)} partition{'' if len(request.partitions) == 1 else 's'}"
        click.echo(f"request {request.id}  {requested_at(request)}  {many}  {ended}{limit}")
    for one in ongoing:
        click.echo(
            f"ongoing  {one.topic}/{one.partition}  replicas {_ids(one.replicas)}"
            f"  adding {_ids(one.adding)}  removing {_ids(one.removing)}"
        )
    if not ongoing:
        click.echo("no reassignment is ongoing")


def _send(desk: RequestStore, request: Request, targets: list[Any]) -> ReassignmentAnswer:
    try:
        return alter_reassignments(desk.reach.a_broker(), targets, TIMEOUT_MS)
    except WireError as error:
        raise _silent(
            error, f"krucible reassign progress --request {request.id} (the change may have been made)"
        ) from error


def _limit(desk: RequestStore, request: Request, limit: Throttle) -> None:
    """Set the throttles first, as Kafka's tool does. If that fails, no reassignment is requested."""
    try:
        unreached = set_throttle(desk.reach.a_broker(), limit)
    except WireError as error:
        desk.change(lambda now: abandoned(now, request.id, "its throttles could not be set"))
        raise _silent(error, f"krucible reassign verify --request {request.id}") from error
    for broker in unreached:
        click.echo(f"  broker {broker} does not answer: it has no throttle")


def _free(desk: RequestStore, request: Request, *, to_stderr: bool = False) -> None:
    """Remove a request's throttles, if it has any."""
    limit = request.throttle
    if limit is None:
        return
    kept = desk.file.read().requests
    others = [one.throttle for one in kept if one.throttle is not None and one.id != request.id]
    try:
        unreached = remove_throttle(desk.reach.a_broker(), limit, others)
    except WireError as error:
        raise _silent(error, f"krucible reassign verify --request {request.id}") from error
    rest = Throttle(limit.bytes_per_s, unreached, {}, {}) if unreached else None
    desk.change(lambda now: freed(now, request.id, rest))
    for broker in unreached:
        stays = f"  broker {broker} does not answer: its throttle stays; verify again when it is up"
        click.echo(stays, err=to_stderr)
    if not unreached:
        click.echo("throttles removed", err=to_stderr)


def _print_answer(answer: ReassignmentAnswer) -> None:
    if answer.code:
        click.echo(f"  refused: {named_code(answer.code)} {answer.message or ''}".rstrip())
    for one in answer.results:
        outcome = f"refused: {named_code(one.code)} {one.message or ''}".rstrip() if one.code else "accepted"
        click.echo(f"  {one.topic}/{one.partition}  {outcome}")


def _why_not(asked: RequestedPartition, other: int | None) -> str:
    return "it was refused" if other is None or asked.ended is None else f"request {other} has it now"


def _silent(error: WireError, next_step: str) -> KrucibleError:
    return KrucibleError(
        "the broker refused the request, or did not answer", got=str(error), next_step=next_step
    )


def _ids(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers)) or "none"


def _now_s() -> int:
    return int(time.time())
