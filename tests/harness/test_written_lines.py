"""Structs that recorders take are written as the dictionaries were that they stand for."""

from typing import Any

import msgspec
import pytest

from checkers.history.shapes import (
    Committing,
    FinalRead,
    FinalReadAsked,
    FinalReadPart,
    GroupPollAsked,
    Isolation,
    PollAsked,
    Polled,
)

KIND, ISOLATION = "kafka-python", Isolation.READ_COMMITTED
WHO: dict[str, Any] = {"client": "kafka-python", "isolation": "read_committed"}
GROUP: dict[str, Any] = WHO | {"group": "g"}
RECORDS: list[tuple[int, list[int], list[Any]]] = [(2, [7, 8], [3, "x"])]
READ: dict[str, Any] = {"partition": 2, "start": 0, "end": 9, "position": 9, "records": RECORDS}
COMMIT: dict[str, Any] = {"client": KIND, "topic": "t", "offsets": [(0, 4)]}


def polled(**more: Any) -> Polled:
    return Polled(client=KIND, isolation=ISOLATION, records=RECORDS, **more)


@pytest.mark.parametrize(
    ("value", "before"),
    [
        (PollAsked(KIND, ISOLATION), WHO),
        (polled(), WHO | {"records": RECORDS}),
        (GroupPollAsked(KIND, ISOLATION, "g"), GROUP),
        (polled(group="g"), GROUP | {"records": RECORDS}),
        (
            polled(group="g", assigned=[(0, 4)], membership=None),
            GROUP | {"records": RECORDS, "assigned": [(0, 4)], "membership": None},
        ),
        (polled(group="g", membership=("m", 3)), GROUP | {"records": RECORDS, "membership": ("m", 3)}),
        (FinalReadAsked(KIND, ISOLATION, 2), WHO | {"partition": 2}),
        (FinalRead(KIND, ISOLATION, 2, 0, 9, 9, RECORDS), WHO | READ),
        (FinalReadPart(KIND, ISOLATION, 2, 0, 9, 9, []), WHO | READ | {"records": []}),
        (
            Committing(client=KIND, topic="t", offsets=[(0, 4)], membership=("m", 3)),
            COMMIT | {"membership": ("m", 3)},
        ),
        (
            Committing(client=KIND, topic="t", offsets=[(0, 4)], membership=None, outsider=True),
            COMMIT | {"membership": None, "outsider": True},
        ),
    ],
)
def test_a_value_is_written_as_before(value: msgspec.Struct, before: dict[str, Any]) -> None:
    assert msgspec.json.encode(value) == msgspec.json.encode(before)
    assert msgspec.json.decode(msgspec.json.encode(before), type=type(value)) == value
