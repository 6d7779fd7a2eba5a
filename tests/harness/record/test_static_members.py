"""It is known which static members are away, and whether one has left again since."""

from harness.record.events import StaticMemberSeen
from harness.record.tally import AcknowledgedCounter

ONE, OTHER = ("g", "g-0"), ("h", "h-0")


def seen(member: tuple[str, str], *, away: bool) -> StaticMemberSeen:
    return StaticMemberSeen(*member, away)


def test_a_member_that_is_there_makes_its_group_known() -> None:
    tally = AcknowledgedCounter()
    assert tally.members.groups == frozenset()
    tally.hear(seen(ONE, away=False))
    assert tally.members.groups == {"g"}
    assert tally.members.away() == {}
    assert tally.acked == 0


def test_a_member_is_away_until_it_is_about_to_come_back() -> None:
    members = AcknowledgedCounter().members
    for member in (ONE, OTHER):
        members.hear(seen(member, away=True))
    assert members.away() == {ONE: 1, OTHER: 1}
    members.hear(seen(OTHER, away=False))
    assert members.away() == {ONE: 1}
    assert members.groups == {"g", "h"}


def test_a_member_that_left_again_has_another_number() -> None:
    members = AcknowledgedCounter().members
    for away in (True, False, True):
        members.hear(seen(ONE, away=away))
    assert members.away() == {ONE: 2}
