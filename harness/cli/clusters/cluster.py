"""``krucible cluster`` and ``krucible heal``: clusters for hands-on use, cleanup after a killed harness."""

import os
import secrets
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cli.clusters.hands_on import hands_on
from harness.cli.options.origins import settled
from harness.cli.options.properties import warn_of_unknown_properties
from harness.cli.options.shared import runs_option
from harness.cli.options.topologies import TopologyChoice, topology_options
from harness.cli.parsing import Command, Group
from harness.cluster.cluster import Cluster, Plan, find_cluster, remove_run, start_cluster
from harness.cluster.containers import RunContainers
from harness.cluster.engine import Engine, compose_binary, connect, engine_errors_named
from harness.cluster.images import ensure_base, ensure_image
from harness.cluster.leftovers import leftovers
from harness.cluster.logs import save_logs
from harness.cluster.rendering import problems_with
from harness.errors import KrucibleError, UsageError, disk_errors_named
from harness.plan.kafka_choice import KafkaChoice
from harness.record.folder import create_cluster_folder
from harness.record.ledger import Ledger, RunOpened
from harness.record.ownership import this_process
from harness.run.healing import heal as heal_runs
from harness.run.readiness import await_ready
from harness.vocabulary.topology import Topology
from harness.vocabulary.version import DEFAULT_VERSION, VersionShapeError


@click.group(cls=Group)
def cluster() -> None:
    """Clusters for hands-on use."""


@cluster.command()
@topology_options
@runs_option
def up(kafka: KafkaChoice, choice: TopologyChoice, *, runs: Path) -> None:
    """Start a cluster and leave it up; prints how to reach it and how to take it down."""
    kafka = settled(kafka)
    version = kafka.kafka_version or DEFAULT_VERSION
    source, one = kafka.image_from
    topology = _topology(version, choice)
    warn_of_unknown_properties(dict(choice.config), version)
    began = time.monotonic()
    with disk_errors_named(), engine_errors_named(), closing(connect()) as client:
        kafka_image = ensure_image(version, source, click.echo, client, one).reference
        run = secrets.token_hex(4)
        plan = Plan(
            run=run,
            holder_image=ensure_base(click.echo, client),
            folder=create_cluster_folder(runs, run),
            topology=topology,
            version=version,
            kafka_image=kafka_image,
            kept=True,
        )
        started = _started(client, plan)
    _print_nodes(started, time.monotonic() - began)


def _topology(version: str, choice: TopologyChoice) -> Topology:
    """Return the requested topology. An unsupported one is refused before anything is created."""
    try:
        topology = choice.applied_to(Topology(), version)
        problems = problems_with(topology, version)
    except VersionShapeError as error:
        problems = [str(error)]
    if problems:
        raise UsageError(
            "that cluster is not possible",
            got="\n            ".join(problems),
            next_step="krucible cluster up --help",
        )
    return topology


def _started(client: Engine, plan: Plan) -> Cluster:
    """Start a cluster and wait until it is ready; one that does not become ready is removed."""
    with closing(Ledger(plan.folder)) as ledger:
        ledger.write(RunOpened(run=plan.run, owner=this_process(os.getpid()), kept=True))
    try:
        started = start_cluster(client, plan, compose_binary())
        await_ready(started)
    except BaseException:
        click.echo("taking it down again", err=True)
        with suppress(KrucibleError, OSError):
            save_logs(RunContainers(client, plan.run).nodes(), plan.folder)
        remove_run(client, plan.run, plan.folder)
        raise
    return started


def _print_nodes(started: Cluster, took_s: float) -> None:
    run, folder = started.description.run, started.folder
    click.echo(f"cluster {run} is ready after {took_s:.1f} s")
    for node in started.nodes:
        click.echo(f"  {node.name}  id {node.id:<4} {started.addresses[node.name]}  {', '.join(node.roles)}")
    click.echo(f"  folder     {folder}")
    click.echo(hands_on(folder))


@cluster.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(*, as_json: bool) -> None:
    """List every cluster of krucible's that the engine knows, and its nodes."""
    client = connect()
    found = leftovers(client)
    if as_json:
        click.echo(msgspec.json.encode(found, enc_hook=str).decode())
        return
    if not found:
        click.echo("no cluster is running")
        return
    table = Table("run", "state", "nodes", "folder")
    for leftover in found:
        state = "kept" if leftover.kept else "running" if leftover.live else "orphaned: krucible heal"
        texts = (leftover.run, state, _nodes(client, leftover.folder), str(leftover.folder))
        table.add_row(*map(Text, texts))
    Console().print(table)


@cluster.command()
@click.argument("run", nargs=-1)
def down(run: tuple[str, ...]) -> None:
    """Take clusters down: those named, or the only one that was kept."""
    client = connect()
    kept = [leftover.run for leftover in leftovers(client) if leftover.kept]
    if not run and len(kept) != 1:
        raise UsageError(
            "no cluster is named",
            got=f"several are kept: {', '.join(kept)}" if kept else "none is kept",
            expected="the id of a cluster, or exactly one cluster that is kept",
            next_step="krucible cluster status lists them; then: krucible cluster down ID",
        )
    heal_runs(client, run or tuple(kept), click.echo)


@click.command(cls=Command)
@click.argument("run", nargs=-1)
def heal(run: tuple[str, ...]) -> None:
    """Undo what a harness that was killed left behind: faults, containers, networks, disks.

    Runs that are alive or were kept are left alone unless named by RUN.  Histories are never touched.
    """
    healed = heal_runs(connect(), run, click.echo)
    click.echo(f"healed {len(healed)} run{'' if len(healed) == 1 else 's'}")


def _nodes(client: Any, folder: Path) -> str:
    try:
        found = find_cluster(client, folder).containers
    except KrucibleError:
        return "unknown: its folder is gone"
    return ", ".join(f"{name} {containers.state()['Status']}" for name, containers in found.items())
