"""Options for the source of Kafka: a version, an image or a tarball. They are checked for consistency."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click
from msgspec.structs import replace

from harness.cli.options.places import File
from harness.cli.options.structs import gathered
from harness.cluster.images.registry import OFFICIAL, REPOSITORY_VARIABLE, wanted
from harness.cluster.images.tarball import version_in
from harness.errors import UsageError
from harness.plan.kafka_choice import KafkaChoice
from harness.vocabulary.version import VersionShapeError, parse_version

_AUTO = "auto"

P = ParamSpec("P")
R = TypeVar("R")


def image_options(function: Callable[Concatenate[KafkaChoice, P], R]) -> Callable[P, R]:
    """Add the options for the source of Kafka; the command receives a `KafkaChoice`, which it should settle.

    The command has an option ``--kafka-version`` of its own, which becomes a part of it.
    """
    choices = (
        click.option(
            "--image-source",
            type=click.Choice([_AUTO, "artifacts", "registry"]),
            default=_AUTO,
            show_default=True,
            help="Where Kafka comes from: a registry's image, or Maven Central's artifacts; auto tries both.",
        ),
        click.option(
            "--kafka-tarball",
            type=File("the tarball of a release", resolve_path=True, path_type=None),
            help="Run Kafka from a release's tarball, such as kafka_2.13-4.5.0.tgz.",
        ),
        click.option(
            "--kafka-image",
            metavar="REF",
            help="Run Kafka from one image, by tag or digest; pulled if needed.",
        ),
    )
    command = gathered(KafkaChoice)(function)
    for choice in reversed(choices):
        command = choice(command)
    return command


def settled(given: KafkaChoice) -> KafkaChoice:
    """Return a requested Kafka with its version, which is read from a tarball or an image's tag.

    ``--kafka-version 4.3.1@sha256:…`` becomes the image with that digest.

    Raises:
        UsageError: if the options contradict each other, or the version is unknown.
    """
    version, tarball, image = given.kafka_version, given.kafka_tarball, given.kafka_image
    if version and "@" in version and not (tarball or image):
        asked = wanted(version)
        repository = os.environ.get(REPOSITORY_VARIABLE) or OFFICIAL
        version, image = asked.version, f"{repository}@{asked.digest}"
    _require_one(tarball, image, given.image_source)
    if tarball:
        version = _agreed(version, version_in(Path(tarball)), tarball)
    elif image:
        version = version or _version_of_tag(image)
    return replace(given, kafka_version=version, kafka_image=image)


def _require_one(tarball: str | None, image: str | None, source: str) -> None:
    if tarball and image:
        raise UsageError(
            "--kafka-tarball and --kafka-image exclude each other",
            got=f"{tarball} and {image}",
            next_step="drop --kafka-tarball or --kafka-image",
        )
    fitting = {"tarball"} if tarball else {"registry"}
    if (tarball or image) and source not in fitting | {_AUTO}:
        raise UsageError(
            f"--image-source contradicts {'--kafka-tarball' if tarball else '--kafka-image'}",
            got=f"--image-source {source}, and {tarball or image}",
            next_step="drop --image-source",
        )


def _agreed(asked: str | None, found: str, tarball: str) -> str:
    if asked and asked != found:
        raise UsageError(
            "the tarball holds another version",
            got=found,
            expected=asked,
            where=tarball,
            next_step="drop --kafka-version",
        )
    return found


def _version_of_tag(image: str) -> str:
    """Return ``4.3.1`` for ``…/kafka:4.3.1``. A reference with only a digest has no version."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    try:
        parse_version(tag)
    except VersionShapeError:
        raise UsageError(
            "the version of Kafka in that image is unknown",
            got=image,
            expected="an image whose tag is a version such as 4.3.1, or --kafka-version as well",
            next_step=f"--kafka-image {image} --kafka-version 4.3.1",
        ) from None
    return tag
