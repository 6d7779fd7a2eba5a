"""``--master`` and its related options, for commands that can run on other hosts."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

import click

from harness.campaigns.hosting.host_options import HostOptions
from harness.cli.options.places import Folder
from harness.cli.options.shared import WholeNumber
from harness.errors import KrucibleError, UsageError

CLUSTERS_MAX = 8
_MASTER = re.compile(r"spark://[^/\s]+")

F = TypeVar("F", bound=Callable[..., Any])


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


def hosts_options(function: F) -> F:
    """Add ``--master``, ``--clusters-per-host`` and ``--scratch``, which `requested_hosts` reads."""
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
    for choice in reversed(choices):
        function = choice(function)
    return function


def requested_hosts(given: dict[str, Any]) -> HostOptions | None:
    """Remove these options from a command's options and return them; None if the runs are made on this host.

    Raises:
        UsageError: ``--clusters-per-host`` or ``--scratch`` was given without ``--master``.
        KrucibleError: Spark is not installed.
    """
    master, clusters, scratch = (given.pop(name) for name in ("master", "clusters_per_host", "scratch"))
    if master is None:
        if clusters is not None or scratch is not None:
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
    return HostOptions(master, clusters or 1, None if scratch is None else scratch.absolute())
