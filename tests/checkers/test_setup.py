"""The setup operation as checkers read it."""

from collections.abc import Callable

import msgspec
import pytest

from checkers.evidence.setup import setup_of
from checkers.history.operations import History, OperationType
from checkers.verdict.verdict import Validity

Story = Callable[..., History]


def test_what_the_run_said(story: Story) -> None:
    setup = setup_of(story("", setup={"planned_faults": 3, "expected": "invalid", "something": "new"}))
    assert setup is not None
    assert (setup.planned_faults, setup.expected) == (3, Validity.INVALID)
    assert [node.name for node in setup.nodes] == ["c1", "c2", "c3"]


def test_what_it_need_not_say(story: Story) -> None:
    setup = setup_of(story("", setup={"expected": None}))
    assert setup is not None
    assert (setup.planned_faults, setup.expected) == (None, None)


def test_none(story: Story) -> None:
    history = story("1 phase load")
    begun = msgspec.structs.replace(history.operations[0], type=OperationType.INVOKE)
    assert setup_of(msgspec.structs.replace(history, operations=(begun, history.operations[1]))) is None


def test_malformed(story: Story) -> None:
    with pytest.raises(msgspec.ValidationError, match="controller_fetch_timeout_ms"):
        setup_of(story("", setup={"controller_fetch_timeout_ms": "2 s"}))
