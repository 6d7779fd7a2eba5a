"""The group that holds every command."""

import click

from harness.cli.checking import check, report
from harness.cli.clusters import cluster, heal
from harness.cli.hosts import doctor, setup
from harness.cli.listing import list_command
from harness.cli.running import run


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="krucible")
def krucible() -> None:
    """Fault injection for Apache Kafka's KRaft clusters, and an honest verdict.

    Exit codes: 0 valid, 1 invalid, 2 unknown, 3 the harness failed, 64 usage.
    """


for command in (doctor, setup, list_command, run, check, report, cluster, heal):
    krucible.add_command(command)
