"""ElectLeaders over the wire: what is asked, and what comes back."""

from collections.abc import Iterator

import pytest

from harness.administration.elections import (
    ElectionAnswer,
    ElectionResult,
    elect_leaders,
)
from harness.kafka.wire import WireError
from harness.vocabulary.administration import ElectionType
from tests.harness.fakes.electing_node import ELECT, FakeElectingNode

PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN


@pytest.fixture
def node() -> Iterator[FakeElectingNode]:
    with FakeElectingNode() as made:
        yield made


@pytest.mark.parametrize(("election", "number"), [(PREFERRED, 0), (UNCLEAN, 1)])
def test_each_partition_is_named_once_with_the_type_of_kip_460(
    node: FakeElectingNode, election: ElectionType, number: int
) -> None:
    elect_leaders(node.address, election, [("a", 1), ("b", 0), ("a", 0), ("a", 1)], 60_000)

    assert node.elections == [(number, [("a", [1, 0]), ("b", [0])], 60_000)]


@pytest.mark.parametrize(("partitions", "named"), [(None, None), ((), [])])
def test_all_partitions_are_none_and_not_an_empty_list(
    node: FakeElectingNode, partitions: tuple[tuple[str, int], ...] | None, named: list[object] | None
) -> None:
    elect_leaders(node.address, PREFERRED, partitions, 60_000)

    assert node.elections == [(0, named, 60_000)]


def test_the_answer_is_kafkas_word_for_word(node: FakeElectingNode) -> None:
    node.code = 42
    node.codes = {("a", 0): (0, None), ("a", 1): (80, "not in sync")}
    answer = elect_leaders(node.address, PREFERRED, None, 60_000)

    assert answer == ElectionAnswer(
        42, (ElectionResult("a", 0, 0, None), ElectionResult("a", 1, 80, "not in sync"))
    )


def test_an_old_node_holds_preferred_elections_only(node: FakeElectingNode) -> None:
    node.versions[ELECT] = 0
    node.codes = {("a", 0): (84, None)}
    answer = elect_leaders(node.address, PREFERRED, [("a", 0)], 60_000)
    with pytest.raises(WireError, match="only preferred elections"):
        elect_leaders(node.address, UNCLEAN, [("a", 0)], 60_000)

    assert answer == ElectionAnswer(0, (ElectionResult("a", 0, 84, None),))
    assert len(node.elections) == 1


def test_a_node_that_lacks_elect_leaders_is_reported(node: FakeElectingNode) -> None:
    del node.versions[ELECT]
    with pytest.raises(WireError, match="no version in common"):
        elect_leaders(node.address, PREFERRED, None, 60_000)


def test_a_silent_node_is_no_answer(node: FakeElectingNode) -> None:
    node.codes = None
    with pytest.raises(WireError, match="timed out"):
        elect_leaders(node.address, PREFERRED, None, 1)

    assert len(node.elections) == 1
