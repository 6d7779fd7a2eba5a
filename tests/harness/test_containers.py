"""A node's containers: what the engine refuses once may be asked again, what it refuses for good is told."""

from typing import Any, cast

import pytest
from docker.errors import APIError

from harness.cluster.containers import NodeContainers
from harness.errors import EngineError


class Refusing:
    """A container that cannot be paused before it was asked often enough."""

    def __init__(self, times: int, why: str) -> None:
        self._left, self._why = times, why
        self.asked = 0

    def pause(self) -> None:
        self.asked += 1
        if self.asked <= self._left:
            raise APIError(self._why)


def node(kafka: Refusing) -> NodeContainers:
    return NodeContainers("n1", cast("Any", None), cast("Any", kafka))


def test_threads_that_were_too_busy_to_freeze_are_frozen_at_the_next_attempt() -> None:
    kafka = Refusing(4, "OCI runtime pause failed: unable to freeze: unknown")
    node(kafka).pause()
    assert kafka.asked == 5


@pytest.mark.parametrize(
    ("why", "asked"), [("unable to freeze", 5), ("Container n1 is already paused", 1)], ids=["busy", "no"]
)
def test_a_pause_that_is_refused_for_good_is_told(why: str, asked: int) -> None:
    kafka = Refusing(99, why)
    with pytest.raises(EngineError, match="the Docker engine refused") as error:
        node(kafka).pause()
    assert why in str(error.value.got)
    assert kafka.asked == asked
