"""``krucible doctor`` and ``krucible setup``: report what is missing on this host, and install it."""

from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from rich.console import Console

from harness.cli.options.origins import image_options, settled
from harness.cli.options.shared import runs_option
from harness.cli.parsing import Command
from harness.host.doctor import Check, CheckState
from harness.host.doctor import doctor as look
from harness.host.doctor_view import show
from harness.host.setup import setup as make_ready
from harness.plan.kafka_choice import KafkaChoice
from harness.vocabulary.version import DEFAULT_VERSION
from results.pipeline.spark.java import JAVA_MIN, NEXT_STEP, find_java

NOT_READY = 3

version_option = click.option(
    "--kafka-version", metavar="V", help=f"Kafka's version; {DEFAULT_VERSION} unless given."
)


@click.command(cls=Command)
@version_option
@image_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@runs_option
def doctor(kafka: KafkaChoice, *, as_json: bool, runs: Path) -> int:
    """Report what is missing on this host and how to fix it; changes nothing.

    Exits with 0 if a run could start now, with 3 if not.
    """
    asked = _image(kafka)
    report = look(asked.version, asked.source, runs, asked.given, (java_of_spark(),))
    if as_json:
        click.echo(msgspec.json.encode(report.as_json()).decode())
    else:
        show(report, Console())
    return 0 if report.ready else NOT_READY


@click.command(cls=Command)
@version_option
@image_options
def setup(kafka: KafkaChoice) -> None:
    """Install and start what is missing, and prepare the image; prints first what it will do.

    With NO_INSTALL=1 nothing is installed; what is missing is listed.
    """
    asked = _image(kafka)
    make_ready(asked.version, asked.source, click.echo, asked.given)


def java_of_spark() -> Check:
    """Check for the Java that ``krucible pipeline`` needs. Kafka's Java is in its image."""
    java = find_java()
    if not java.problem:
        return Check("java", CheckState.OK, f"{java.version}, for krucible pipeline")
    wanted = f"krucible pipeline needs Java {JAVA_MIN} or newer"
    return Check("java", CheckState.OPTIONAL, f"{java.problem}: {java.got}; {wanted}", NEXT_STEP)


class _RequestedImage(NamedTuple):
    """The version, the image source, and the tarball or image that was given."""

    version: str
    source: str
    given: str


def _image(kafka: KafkaChoice) -> _RequestedImage:
    chosen = settled(kafka)
    return _RequestedImage(chosen.kafka_version or DEFAULT_VERSION, *chosen.image_from)
