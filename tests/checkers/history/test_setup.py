"""The setup operation as checkers read it."""

from collections.abc import Callable

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.history.setup import Setup, SetupOf, recorded_setup, setup_of
from checkers.verdict.verdict import Validity

Story = Callable[..., History]


def test_what_the_run_recorded(story: Story) -> None:
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


@pytest.mark.parametrize("name", ["kafka_version", "nodes", "assumptions", "observe_interval_ms"])
def test_what_assumptions_are_judged_by_must_be_recorded(story: Story, name: str) -> None:
    history = story("")
    first = history.operations[0]
    value = {field: recorded for field, recorded in first.value.items() if field != name}
    operations = (msgspec.structs.replace(first, value=value), *history.operations[1:])
    bare = msgspec.structs.replace(history, operations=operations)
    with pytest.raises(msgspec.ValidationError, match=f"missing required field `{name}`"):
        setup_of(bare)
    assert recorded_setup(bare).expected is Validity.VALID


def test_roles_of_each_node_must_be_recorded(story: Story) -> None:
    history = story("", setup={"nodes": [{"name": "c1", "id": 1}]})
    with pytest.raises(msgspec.ValidationError, match=r"`nodes\[0\]\.roles`"):
        setup_of(history)
    assert recorded_setup(history).names == {1: "c1"}


@pytest.mark.parametrize("without_setup", [True, False])
def test_one_without_a_value_has_defaults(story: Story, *, without_setup: bool) -> None:
    history = story("1 phase load", without_setup=True)
    if not without_setup:
        setup = Operation(0, 0, "runner", OperationType.OK, "setup")
        history = msgspec.structs.replace(history, operations=(setup, *history.operations))
    assert recorded_setup(history) == Setup()


def test_fields_that_may_be_absent_are_the_only_ones_that_are_omitted() -> None:
    written = msgspec.to_builtins(SetupOf(workload={}, kafka_version="4", scenario="s", mode="m", quorum="q"))
    absent = {
        "planned_gambits",
        "planned_blinks",
        "drawn_faults",
        "operations_min",
        "seeded_bug",
        "producers_end",
        "ready",
        "later_versions",
        "expected_consequences",
    }
    assert set(SetupOf.__struct_fields__) - set(written) == absent


@pytest.mark.parametrize(
    ("setup", "oldest"),
    [
        ({}, (4, 3, 1)),
        ({"node_versions": {"c2": "3.9.0"}}, (3, 9, 0)),
        ({"kafka_version": "4.10.0", "node_versions": {"c2": "4.9.2"}}, (4, 9, 2)),
        ({"later_versions": ["4.1.1"]}, (4, 1, 1)),
        ({"kafka_version": "3.9.0", "later_versions": ["4.3.1-rc1"]}, (3, 9, 0)),
    ],
    ids=["one", "a node has an older one", "numbers", "downgraded", "upgraded"],
)
def test_the_oldest_version_of_any_node_at_any_time(
    story: Story, setup: dict[str, object], oldest: tuple[int, ...]
) -> None:
    assert recorded_setup(story("", setup=setup)).oldest_version == oldest


def test_without_a_setup_no_version_is_known() -> None:
    assert Setup().oldest_version == ()
