"""Requests of those who are no members of a group: resets of its offsets, and its deletion."""

from collections.abc import Iterator

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, INFO, OK, pairs
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "outsiders"
RUN = ("outsiders",)


def _refused(edit: Edit) -> Iterator[Operation]:
    """Resets that were refused between two commits of a member in one generation."""
    every = [(i, o) for i, o in pairs(edit.original, "commit") if o.type in {OK, FAIL}]
    done = [(i, o) for i, o in every if o.type is OK and o.value["membership"]]
    for asked, refused in every:
        if refused.value.get("outsider") and refused.type is FAIL and "error 25" in str(refused.error):
            same = [(i, o) for i, o in done if i.key == asked.key]
            before = {tuple(o.value["membership"]) for _, o in same if o.index < asked.index}
            if any(tuple(i.value["membership"]) in before for i, _ in same if i.index > refused.index):
                yield refused


@mutation(FAMILY, invalid("outsider-commit"), RUN, 4)
def a_reset_that_is_taken(edit: Edit) -> None:
    """A group that has a member accepts a commit of a client that is not a member."""
    edit.set(edit.chosen(_refused(edit)).index, type=OK, error=None)


@mutation(FAMILY, invalid("committed-offset-lost"), RUN, 2)
def a_reset_that_is_refused_and_takes_effect(edit: Edit) -> None:
    """A member begins at an offset that a client outside the group had tried to commit, and was refused."""
    places = []
    for refused in _refused(edit):
        wanted = dict(refused.value["offsets"])
        for poll in edit.original.of("poll"):
            if poll.index < refused.index or poll.type is not OK or poll.value.get("group") != refused.key:
                continue
            starts = dict(poll.value.get("assigned") or ())
            places += [(poll, p, offset) for p, offset in wanted.items() if 0 < offset < starts.get(p, 0)]
    poll, partition, offset = edit.chosen(places)

    def change(value: dict[str, list[list[int]]]) -> None:
        value["assigned"] = [[p, offset if p == partition else at] for p, at in value["assigned"]]

    edit.change(poll.index, change)


@mutation(FAMILY, invalid("group-deleted-with-members"), RUN, 2)
def a_group_that_is_deleted(edit: Edit) -> None:
    """A group is deleted while it has a member."""
    asked = [o for _, o in pairs(edit.original, "delete-group") if o.type is FAIL and "68" in str(o.error)]
    edit.set(edit.chosen(asked).index, type=OK, error=None)


@mutation(FAMILY, VALID, RUN, 2)
def a_deletion_without_an_answer(edit: Edit) -> None:
    """The deletion of a group gets no answer."""
    asked = [o for _, o in pairs(edit.original, "delete-group")]
    edit.set(edit.chosen(asked).index, type=INFO, error="timed out")


@mutation(FAMILY, VALID, RUN, 2)
def a_reset_that_was_not_asked_for(edit: Edit) -> None:
    """One reset that was refused is left out."""
    places = [(i, o) for i, o in pairs(edit.original, "commit") if o.value.get("outsider") and o.type is FAIL]
    edit.drop(*(o.index for o in edit.chosen(places)))
