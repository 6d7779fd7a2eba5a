"""Containers that replace a node's earlier one, with another image of Kafka on the same disks."""

from collections.abc import Mapping
from typing import Any

from docker.models.containers import Container

GENERATION_LABEL = "krucible.generation"
"""Number of containers of Kafka that the node had before this one; none without the label."""
_OF_COMPOSE = "com.docker.compose."


def generation_of(labels: Mapping[str, str]) -> int:
    """The place of a container among those of its node, counted from 0, by its labels."""
    return int(labels.get(GENERATION_LABEL, 0))


def make_successor(kafka: Container, image: str, generation: int) -> Container:
    """Make a container like another one, but with another image; it is not started.

    Args:
        kafka: the container that it will replace.
        image: reference of the image.
        generation: number of containers that the node had before.

    Raises:
        APIError: the engine refuses.
    """
    client = kafka.client
    assert client is not None, "the engine was asked for it"  # noqa: S101 - narrows a union of the library
    name = f"{str(kafka.name).split('.')[0]}.{generation}"
    api: Any = client.api  # its stubs don't have the types of this call
    made = api.create_container_from_config(_described(kafka, image, generation), name)
    return client.containers.get(made["Id"])


def _described(kafka: Container, image: str, generation: int) -> dict[str, object]:
    """The engine's arguments for the new container.

    Settings from the old image are left out, so that those of the new image apply.  Compose's labels are left
    out too, because compose would treat the container as its own.
    """
    kafka.reload()
    assert kafka.image is not None, "it was made from one"  # noqa: S101 - narrows a union of the library
    config, of_image = kafka.attrs["Config"], kafka.image.attrs["Config"]
    labels = {name: text for name, text in config["Labels"].items() if not name.startswith(_OF_COMPOSE)}
    return {
        "Image": image,
        "User": config["User"],
        "Entrypoint": config["Entrypoint"],
        "Env": [each for each in config["Env"] if each not in (of_image["Env"] or ())],
        "Labels": labels | {GENERATION_LABEL: str(generation)},
        "StopTimeout": config.get("StopTimeout"),
        "HostConfig": kafka.attrs["HostConfig"],
    }
