"""The recipes in ``compose/images``, and names of images that depend on their content."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from harness.vocabulary.version import FIRST_LOG4J2, parse_version

HASH_LENGTH = 12
ENTRY_FILES = ("run-node", "prepare-image")


def recipes() -> Traversable:
    """The folder of recipes."""
    return resources.files("compose") / "images"


@cache
def recipe_bytes(name: str) -> bytes:
    """The content of one file of the recipes."""
    return (recipes() / name).read_bytes()


def base_packages() -> tuple[str, ...]:
    """Debian packages of the base image."""
    return tuple(recipe_bytes("base-packages").decode().split())


def content_hash(parts: Iterable[bytes | str]) -> str:
    """The first `HASH_LENGTH` hexadecimal digits of a SHA-256 over parts, each prefixed with its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:HASH_LENGTH]


def logging_recipe(version: str) -> str:
    """Name of the logging configuration for a version of Kafka."""
    return "log4j2.properties" if parse_version(version) >= FIRST_LOG4J2 else "log4j.properties"


def kafka_recipe_hash(version: str, *parts: str) -> str:
    """Hash of everything in a Kafka image except the jars."""
    files = ("Dockerfile", *ENTRY_FILES, logging_recipe(version))
    return content_hash([*(recipe_bytes(name) for name in files), *parts])
