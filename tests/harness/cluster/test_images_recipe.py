"""Recipes: an image's name changes exactly when what goes into it does."""

import pytest

from harness.cluster.images import recipe
from harness.cluster.images.base import base_reference


def test_parts_are_distinguished_by_their_lengths() -> None:
    assert recipe.content_hash(["ab", "c"]) != recipe.content_hash(["a", "bc"])
    assert recipe.content_hash(["ab", b"c"]) == recipe.content_hash([b"ab", "c"])
    assert len(recipe.content_hash([])) == recipe.HASH_LENGTH


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.6.2", "log4j.properties"),
        ("3.9.1", "log4j.properties"),
        ("4.0.0", "log4j2.properties"),
        ("4.3.1", "log4j2.properties"),
        ("4.0.0-rc1", "log4j2.properties"),
    ],
)
def test_logging_is_configured_as_the_version_reads_it(version: str, expected: str) -> None:
    assert recipe.logging_recipe(version) == expected
    assert b"%d{yyyy-MM-dd'T'HH:mm:ss.SSS'Z'}{UTC}" in recipe.recipe_bytes(expected)


def test_the_recipes_hash_covers_the_entry_files_and_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    first = recipe.kafka_recipe_hash("4.3.1", "artifacts")
    assert recipe.kafka_recipe_hash("4.3.1", "artifacts") == first
    assert recipe.kafka_recipe_hash("4.3.1", "registry") != first
    assert recipe.kafka_recipe_hash("3.9.0", "artifacts") != first
    real = recipe.recipe_bytes
    monkeypatch.setattr(recipe, "recipe_bytes", lambda name: real(name) + b"#" * (name == "run-node"))
    assert recipe.kafka_recipe_hash("4.3.1", "artifacts") != first


def test_the_base_has_what_holders_and_kafka_need() -> None:
    assert {"iptables", "iproute2", "bash", "procps"} < set(recipe.base_packages())
    assert base_reference().startswith("krucible/base:")
