"""``krucible doctor`` and ``krucible setup``: what this host lacks, and having it installed."""

from pathlib import Path

import click
import msgspec
from rich.console import Console

from harness.cli.options import runs_option
from harness.doctor import doctor as look
from harness.doctor_view import show
from harness.setup import setup as make_ready
from harness.vocabulary.version import DEFAULT_VERSION

NOT_READY = 3

version_option = click.option(
    "--kafka-version", default=DEFAULT_VERSION, show_default=True, metavar="V", help="Kafka's version."
)
source_option = click.option(
    "--image-source",
    type=click.Choice(["auto", "artifacts", "registry"]),
    default="auto",
    show_default=True,
    help="Where Kafka comes from.",
)


@click.command()
@version_option
@source_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@runs_option
def doctor(kafka_version: str, image_source: str, as_json: bool, runs: Path) -> int:  # noqa: FBT001 - click hands flags over like this
    """Say what is missing on this host and how to mend it; changes nothing.

    Exits with 0 if a run could start now, with 3 if not.
    """
    report = look(kafka_version, image_source, runs)
    if as_json:
        click.echo(msgspec.json.encode(report.as_json()).decode())
    else:
        show(report, Console())
    return 0 if report.ready else NOT_READY


@click.command()
@version_option
@source_option
def setup(kafka_version: str, image_source: str) -> None:
    """Install and start what is missing, and have the image ready; says first what it will do.

    NO_INSTALL=1 forbids installing; what is missing is then listed.
    """
    make_ready(kafka_version, image_source, click.echo)
