"""Options for the source of Kafka: a version, an image or a tarball. They are checked for consistency."""

import os
from pathlib import Path
from typing import Any

from harness.cluster.images.registry import OFFICIAL, REPOSITORY_VARIABLE, wanted
from harness.cluster.images.tarball import version_in
from harness.errors import UsageError
from harness.vocabulary.version import VersionShapeError, parse_version

_AUTO = "auto"


def settled(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a command with Kafka's version, which is read from a tarball or an image's tag.

    ``--kafka-version 4.3.1@sha256:…`` becomes the image with that digest.

    Args:
        given: options by name; only ``kafka_version``, ``image_source``, ``kafka_tarball`` and
            ``kafka_image`` are read.

    Raises:
        UsageError: if they contradict each other, or the version is unknown.
    """
    version, tarball, image = (given.get(f"kafka_{name}") for name in ("version", "tarball", "image"))
    if version and "@" in version and not (tarball or image):
        asked = wanted(version)
        repository = os.environ.get(REPOSITORY_VARIABLE) or OFFICIAL
        version, image = asked.version, f"{repository}@{asked.digest}"
    _require_one(tarball, image, given.get("image_source") or _AUTO)
    if tarball:
        version = _agreed(version, version_in(Path(tarball)), tarball)
    elif image:
        version = version or _version_of_tag(image)
    return given | {"kafka_version": version, "kafka_tarball": tarball, "kafka_image": image}


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
