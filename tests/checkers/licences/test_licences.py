"""What permits a loss, and what does not: one table, asked for one partition and one stretch of time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.columns.tables import NONE, PartitionName
from checkers.history.operations import History, Operation, OperationType
from checkers.licences import RULES, LicenceEvent, Licences, Permit, first_permit, licences_of
from tests.checkers.log_histories import MS, history_of

HERE = PartitionName("log-0", 0)


def licence(
    text: str, since_ms: int, until_ms: int, *, returned: bool = False, partition: int = 0
) -> str | None:
    """The licence of one loss; None where there is none."""
    permits = licences_of(history_of(text)).of(PartitionName("log-0", partition))
    first = first_permit(
        permits, np.array([since_ms * MS]), np.array([until_ms * MS]), np.array([returned]), np.array([NONE])
    )
    return None if first[0] == NONE else permits[first[0]].text


MOVE = "epoch 0 4\nphase load\nphase load\nepoch 0 5"
KILL = "f1 inject kill\nphase load\nphase load\nf1 heal kill"


@pytest.mark.parametrize("text", ["", MOVE, KILL, "setup unclean=no\n" + MOVE])
@pytest.mark.parametrize("kind", ["kill", "stop", "pause", "partition"])
def test_with_acks_all_nothing_of_the_first_faults_permits_a_loss(text: str, kind: str) -> None:
    assert licence(text.replace("kill", kind), 0, 99) is None


def test_with_acks_0_everything_may_vanish_unless_a_reader_was_given_it() -> None:
    assert str(licence("setup acks=0", 5, 6)).startswith("acks=0: the guarantee never applies")
    assert licence("setup acks=0", 5, 6, returned=True) is None


class TestAcksOne:
    def test_a_leader_that_moved_permits_what_was_there_before(self) -> None:
        text = "setup acks=1\n" + MOVE
        assert licence(text, 1, 9) == (
            "acks=1: the leader epoch of log-0/0 increased from 4 to 5 between 0.002 s and 0.005 "
            "s; only the leader had to have the record, so a later leader may lack it"
        )
        assert licence(text, 6, 9) is None
        assert licence(text, 0, 1) is None

    def test_another_partition_or_a_reader_is_not_covered(self) -> None:
        text = "setup acks=1 partitions=2\n" + MOVE
        assert licence(text, 1, 9, partition=1) is None
        assert licence(text, 1, 9, returned=True) is None

    def test_the_first_sighting_and_an_old_one_are_no_move(self) -> None:
        assert licence("setup acks=1\nepoch 0 5\nepoch 0 4\nepoch 0 5", 0, 9) is None

    def test_a_fault_permits_while_it_is_in_force(self) -> None:
        text = "setup acks=1\n" + KILL
        assert "fault f1 (kill) was in force between 0.002 s and 0.005 s" in str(licence(text, 3, 3))
        assert licence(text, 0, 2) is not None
        assert licence(text, 7, 9) is None

    @pytest.mark.parametrize("heal", ["", "f1 heal-info kill", "f1 heal-fail kill"])
    def test_a_fault_that_was_not_proven_healed_lasts_to_the_end(self, heal: str) -> None:
        assert "and the end" in str(licence(f"setup acks=1\nf1 inject kill\n{heal}", 50, 51))

    def test_a_fault_that_was_not_attempted_permits_nothing(self) -> None:
        text = "setup acks=1\nf1 inject-fail kill\nf1 heal kill"
        assert licence(text, 0, 9) is None

    def test_a_fault_that_may_have_taken_effect_permits(self) -> None:
        assert licence("setup acks=1\nf1 inject-info kill", 0, 9) is not None


class TestUncleanElection:
    def test_it_covers_readers_too(self) -> None:
        assert "may lead" in str(licence("setup unclean=yes\n" + MOVE, 1, 9, returned=True))
        assert licence("setup unclean=yes", 1, 9) is None

    @pytest.mark.parametrize(
        ("version", "permitted"),
        [("3.6.2", False), ("3.8.1", False), ("3.9.0", True), ("4.3.1", True), ("10.0.0-rc1", True)],
    )
    def test_it_is_ignored_up_to_3_8(self, version: str, *, permitted: bool) -> None:
        text = f"setup unclean=yes version={version}\n" + MOVE
        assert (licence(text, 1, 9) is not None) is permitted

    def test_a_topic_overrides_the_cluster(self) -> None:
        assert licence("setup unclean=yes topic_unclean=no\n" + MOVE, 1, 9) is None
        assert licence("setup unclean=no topic_unclean=yes\n" + MOVE, 1, 9) is not None


def test_the_first_row_of_the_table_that_covers_it_is_the_licence() -> None:
    text = "setup acks=1 unclean=yes\n" + MOVE
    assert str(licence(text, 1, 9)).startswith("acks=1")
    assert str(licence(text, 1, 9, returned=True)).startswith("unclean")


def test_without_a_setup_nothing_is_permitted() -> None:
    assert (
        licences_of(History("", "", (Operation(0, 0, 1, OperationType.OK, "phase", "load"),))).of(HERE) == ()
    )
    assert licences_of(History("", "", ())).of(HERE) == ()
    assert Licences().of(HERE) == ()


def test_every_rule_gives_its_reason() -> None:
    assert all(rule.name and rule.reason for rule in RULES)


def test_a_doubt_outweighs_a_gap_which_permits_nothing() -> None:
    certain, doubtful = LicenceEvent(0, 9, HERE, ""), LicenceEvent(0, 9, HERE, "", doubt="nobody knows")
    permit, doubt = (Permit(event, covers_returned=True, text="") for event in (certain, doubtful))
    gap = permit._replace(gap=True)
    licences = Licences({HERE.topic: [gap, doubt, permit]})
    assert licences.of(HERE) == (permit, doubt, gap)


TIME = st.integers(0, 9)
EVENT = st.builds(
    lambda a, b, below, above, known: LicenceEvent(
        min(a, b), max(a, b), HERE, "", below=below, above=above, known_from_ns=known
    ),
    TIME,
    TIME,
    st.none() | TIME,
    st.none() | TIME,
    st.just(0) | TIME,
)
PERMIT = st.builds(lambda event, returned: Permit(event, returned, ""), EVENT, st.booleans())
LOSS = st.tuples(TIME, TIME, st.booleans(), st.integers(-1, 9), TIME)


def _covers(permit: Permit, loss: tuple[int, int, bool, int, int], *, removable: bool) -> bool:
    """The rule for one permit and one loss, as it is put in words."""
    event, (since_ns, until_ns, returned, offset, known_ns) = permit.event, loss
    if known_ns < event.known_from_ns:
        return False
    if event.from_ns > until_ns or event.to_ns < since_ns or (returned and not permit.covers_returned):
        return False
    if event.below is not None and not (removable and 0 <= offset < event.below):
        return False
    return event.above is None or offset == NONE or offset >= event.above


@given(st.lists(PERMIT, max_size=4), st.lists(LOSS, max_size=6), st.booleans())
def test_the_first_permit_agrees_with_a_plain_loop(
    permits: list[Permit],
    losses: list[tuple[int, int, bool, int, int]],
    removable: bool,  # noqa: FBT001 - drawn
) -> None:
    since_ns, until_ns, offset, known_ns = (
        np.array([loss[i] for loss in losses], dtype=np.int64) for i in (0, 1, 3, 4)
    )
    returned = np.array([loss[2] for loss in losses], dtype=np.bool_)
    found = first_permit(
        tuple(permits), since_ns, until_ns, returned, offset, known_ns=known_ns, removable=removable
    )
    assert found.tolist() == [
        next((i for i, p in enumerate(permits) if _covers(p, loss, removable=removable)), NONE)
        for loss in losses
    ]
