"""The Docker engine: reaching it."""

import docker
from docker.errors import DockerException

from harness.errors import EngineError

ANSWER_LIMIT_S = 120


def connect() -> docker.DockerClient:
    """A client of the engine; builds and pulls may be silent for `ANSWER_LIMIT_S` seconds.

    Raises:
        EngineError: if no engine answers.
    """
    try:
        client = docker.from_env(timeout=ANSWER_LIMIT_S)
        client.ping()
    except DockerException as error:
        raise EngineError(
            "no Docker engine answers",
            got=str(error),
            expected="a running engine that this user may talk to",
            next_step="krucible setup",
        ) from error
    return client
