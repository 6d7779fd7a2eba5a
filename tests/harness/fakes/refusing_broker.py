"""A broker on loopback that coordinates everything, and answers each kind of request as the test decides."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafka.protocol.metadata import FindCoordinatorResponse

from tests.harness.fakes.broker import COORDINATOR, FakeBroker

Answer = Callable[[Any, int], Any]
"""Makes the answer to a request, with an error code."""


class FakeRefusingBroker(FakeBroker):
    """Is the coordinator of every group.

    Attributes:
        errors: Kafka's code to answer a request's key with; None: it never answers; 0 where absent.
    """

    def __init__(self, answers: Mapping[int, Answer]) -> None:
        super().__init__()
        self.errors: dict[int, int | None] = {}
        for key, answer in {COORDINATOR: self._coordinator, **answers}.items():
            self.answers[key] = partial(self._answered, key, answer)

    def _answered(self, key: int, answer: Answer, request: Any) -> Any:
        error = self.errors.get(key, 0)
        return None if error is None else answer(request, error)

    def _coordinator(self, _request: Any, error: int) -> Any:
        host, port = self.address
        return FindCoordinatorResponse(
            throttle_time_ms=0, error_code=error, error_message=None, node_id=1, host=host, port=port
        )
