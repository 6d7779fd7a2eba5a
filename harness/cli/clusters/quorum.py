"""``krucible quorum``: shows voters, changes voters (KIP-853), and shows the nodes' records of both."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from checkers.history.operations import OperationType
from harness.administration.addressing import Addresses, Reach, find_reach, reach_options
from harness.administration.voters import (
    VoterAnswer,
    VoterKey,
    add_voter,
    directory_uuid,
    meaning_of,
    remove_voter,
)
from harness.cli.clusters.quorum_nodes import Address, NodeView, find_voter, listener_of, request_view
from harness.cli.clusters.quorum_text import outcome_lines, records_lines, replication_lines, status_lines
from harness.cli.options.places import Folder
from harness.cli.options.shared import WholeNumber
from harness.cli.parsing import Group
from harness.errors import KrucibleError, UsageError, disk_errors_named
from harness.kafka.wire import WireError

TIMEOUT_MS = 10_000
TIMEOUT_MAX_MS = 3_600_000
_ID_MAX = 2**31 - 1
_EXIT_CODES = {OperationType.OK: 0, OperationType.FAIL: 1, OperationType.INFO: 2}


class DirectoryId(click.ParamType[str]):
    """A directory id: 22 characters of URL-safe base64, as in ``meta.properties``."""

    name = "ID"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id; fail if Kafka could not have written it."""
        try:
            directory_uuid(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


_id_option = click.option(
    "--id",
    "node_id",
    type=WholeNumber(0, _ID_MAX),
    required=True,
    metavar="N",
    help="The voter's node.id.",
)
_directory_option = click.option(
    "--directory-id", type=DirectoryId(), help="Directory id of its metadata log; looked up if possible."
)
_controller_option = click.option(
    "--controller",
    type=WholeNumber(0, _ID_MAX),
    metavar="N",
    help="Ask only the controller with this node.id; by default, the leader.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_timeout_option = click.option(
    "--timeout-ms",
    type=WholeNumber(1, TIMEOUT_MAX_MS),
    default=TIMEOUT_MS,
    show_default=True,
    help="How long to wait for an answer, and how long to look for a leader.",
)


@click.group(cls=Group)
def quorum() -> None:
    """Show the voters of the quorum, and change them."""


@quorum.command()
@click.option("--status", is_flag=True, help="Show only the quorum as a whole.")
@click.option("--replication", is_flag=True, help="Show only the replicas.")
@_controller_option
@_timeout_option
@_json_option
@reach_options
def describe(
    reach: Reach, controller: int | None, timeout_ms: int, *, status: bool, replication: bool, as_json: bool
) -> None:
    """Describe the quorum: leader, voters, observers, and which observers could become voters."""
    asked = request_view(reach, controller, timeout_ms)
    if as_json:
        click.echo(msgspec.json.encode({"asked": asked.name, "quorum": asked.view}).decode())
        return
    both = status == replication
    parts = [status_lines(asked.view)] if status or both else []
    parts += [replication_lines(asked.view)] if replication or both else []
    click.echo("\n\n".join("\n".join(lines) for lines in parts))


@quorum.command("add-voter")
@_id_option
@_directory_option
@click.option(
    "--endpoint",
    type=Addresses(),
    metavar="HOST:PORT",
    help="Address for other voters; looked up if possible.",
)
@_controller_option
@_timeout_option
@_json_option
@reach_options
def add(
    reach: Reach,
    *,
    node_id: int,
    directory_id: str | None,
    endpoint: tuple[Address, ...] | None,
    controller: int | None,
    timeout_ms: int,
    as_json: bool,
) -> int:
    """Add a voter to the quorum.

    In a cluster of krucible, its directory id and endpoint are read from its disk.

    Exits with 0 if it is a voter now, 1 if it was refused, 2 if it may still become one.
    """
    if endpoint and len(endpoint) > 1:
        raise UsageError(
            "a voter has one endpoint",
            got=f"--endpoint with {len(endpoint)} addresses",
            expected="--endpoint HOST:PORT",
            next_step="name the one at which the other voters reach it",
        )
    asked = request_view(reach, controller, timeout_ms)
    found_id, found_endpoints = find_voter(reach, asked.view, node_id)
    directory_id = directory_id or found_id
    places = tuple((listener_of(asked.view), *place) for place in endpoint or ()) or found_endpoints
    if directory_id is None or not places:
        raise UsageError(
            f"the directory id or the endpoint of node {node_id} is unknown",
            got=f"directory id {directory_id or 'unknown'}, endpoint {places or 'unknown'}",
            expected="a controller of a krucible cluster, or one that fetches from the leader",
            next_step="name both: --directory-id ID --endpoint HOST:PORT",
        )
    voter = VoterKey(node_id, directory_id)
    return _change(
        "add",
        asked,
        voter,
        lambda: add_voter(asked.address, asked.view.cluster_id, voter, places, timeout_ms),
        as_json=as_json,
    )


@quorum.command("remove-voter")
@_id_option
@_directory_option
@_controller_option
@_timeout_option
@_json_option
@reach_options
def remove(
    reach: Reach,
    *,
    node_id: int,
    directory_id: str | None,
    controller: int | None,
    timeout_ms: int,
    as_json: bool,
) -> int:
    """Remove a voter from the quorum.

    Without --directory-id, the leader's directory id for it is used.

    Exits with 0 if it is not a voter now, 1 if the removal was refused, 2 if it may still be removed.
    """
    asked = request_view(reach, controller, timeout_ms)
    found = asked.view.voter(node_id)
    directory_id = directory_id or (found.directory_id if found else None)
    if directory_id is None:
        voters = ", ".join(f"{each.id} with {each.directory_id}" for each in asked.view.voters)
        static = "kraft.version 1: now it is 0, voters are configured and have no directory ids"
        raise UsageError(
            "no such voter" if found is None else "this voter can't be removed",
            got=str(node_id),
            expected=static if asked.view.kraft_version == 0 else f"one of {voters}",
            where=asked.name,
            next_step="krucible quorum describe",
        )
    voter = VoterKey(node_id, directory_id)
    return _change(
        "remove",
        asked,
        voter,
        lambda: remove_voter(asked.address, asked.view.cluster_id, voter, timeout_ms),
        as_json=as_json,
    )


@quorum.command()
@click.argument("folder", required=False, type=Folder("the folder of a cluster or of a run", exists=True))
@_json_option
def records(folder: Path | None, *, as_json: bool) -> int:
    """Show the control records on every node's disk, and compare them.

    FOLDER is the folder of a cluster or of a run.

    Exits with 0 if the nodes agree, 1 if they differ, 2 if something can't be read.
    """
    from harness.administration.control_records import (  # noqa: PLC0415 - loads numba, half a second
        first_difference,
        read_metadata_log,
    )

    folder = folder or find_reach(None, None).folder
    folders = _metadata_folders(folder) if folder else {}
    if not folders:
        raise UsageError(
            "no metadata logs here",
            got="neither disks nor copies of them",
            expected="disks/<node>/__cluster_metadata-0, or nodes/<node>/metadata of a run that is over",
            where=str(folder),
            next_step="krucible cluster status",
        )
    with disk_errors_named():
        logs = {node: read_metadata_log(path) for node, path in folders.items()}
    difference = first_difference(logs)
    unsound = any(log.error or log.damage for log in logs.values())
    if as_json:
        document = {"nodes": logs, "difference": difference}
        click.echo(msgspec.json.encode(document).decode())
    else:
        click.echo("\n".join(records_lines(logs, difference)))
    return 1 if difference else 2 if unsound else 0


def _metadata_folders(folder: Path) -> dict[str, Path]:
    """Return the folder of each node's metadata log: on the node's disk, or the run's copy."""
    with disk_errors_named():
        disks = {path.parent.name: path for path in sorted(folder.glob("disks/*/__cluster_metadata-0"))}
        return disks or {path.parent.name: path for path in sorted(folder.glob("nodes/*/metadata"))}


def _change(
    verb: str, asked: NodeView, voter: VoterKey, ask: Callable[[], VoterAnswer], *, as_json: bool
) -> int:
    """Request a change, print its outcome, and return the exit code."""
    try:
        answer = ask()
    except WireError as error:
        raise KrucibleError(
            "no answer: the change may have been made, or may still be",
            got=str(error),
            where=asked.name,
            next_step="krucible quorum describe",
        ) from error
    meaning = meaning_of(answer)
    if as_json:
        document = {"asked": asked.name, "voter": voter, "answer": answer, "meaning": meaning._asdict()}
        click.echo(msgspec.json.encode(document).decode())
    else:
        click.echo("\n".join(outcome_lines(verb, voter, answer, meaning, asked.name)))
    return _EXIT_CODES[meaning.outcome]
