"""``--master`` and its related options, for commands that can run on other hosts."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click
import msgspec

from harness.campaigns.hosting.host_options import HostOptions
from harness.cli.options.places import Folder
from harness.cli.options.shared import WholeNumber
from harness.cli.options.structs import gathered
from harness.errors import KrucibleError, UsageError

CLUSTERS_MAX = 8
_MASTER = re.compile(r"spark://[^/\s]+")

P = ParamSpec("P")
R = TypeVar("R")


class StandaloneMaster(click.ParamType[str]):
    """A Spark master of the form ``spark://HOST:PORT``.

    No other form is accepted, because only the workers of such a master are hosts with Docker.
    """

    name = "MASTER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; fail if it does not have that form."""
        if not _MASTER.fullmatch(str(value)):
            self.fail(f"got {value!r}, expected spark://HOST:PORT", param, ctx)
        return str(value)


class HostChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options for runs on other hosts; None if they were not given."""

    master: str | None
    clusters_per_host: int | None
    scratch: Path | None


def hosts_options(function: Callable[Concatenate[HostChoice, P], R]) -> Callable[P, R]:
    """Add ``--master``, ``--clusters-per-host`` and ``--scratch``; the command receives a `HostChoice`."""
    choices = (
        click.option(
            "--master",
            type=StandaloneMaster(),
            help="Do the runs on the hosts of this Spark master: docs/hosts.md.",
        ),
        click.option(
            "--clusters-per-host",
            type=WholeNumber(1, CLUSTERS_MAX),
            help="How many clusters a host runs at the same time, with --master.  [default: 1]",
        ),
        click.option(
            "--scratch",
            type=Folder(),
            help="Working folder on each host, with --master.  [default: its krucible cache]",
        ),
    )
    command = gathered(HostChoice)(function)
    for choice in reversed(choices):
        command = choice(command)
    return command


def requested_hosts(given: HostChoice) -> HostOptions | None:
    """Return the hosts that were requested; None if the runs are made on this host.

    Raises:
        UsageError: ``--clusters-per-host`` or ``--scratch`` was given without ``--master``.
        KrucibleError: Spark is not installed.
    """
    if given.master is None:
        if given.clusters_per_host is not None or given.scratch is not None:
            raise UsageError(
                "--clusters-per-host and --scratch only apply to hosts of a Spark master",
                next_step="drop them, or name a --master",
            )
        return None
    if find_spec("pyspark") is None:
        raise KrucibleError(
            "Spark is not installed",
            expected="the extra that --master needs",
            next_step="make spark   in krucible's checkout",
        )
    scratch = None if given.scratch is None else given.scratch.absolute()
    return HostOptions(given.master, given.clusters_per_host or 1, scratch)
