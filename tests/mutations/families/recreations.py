"""Topics that were deleted and created again under their old names."""

from typing import Any, NamedTuple

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.families.groups import listings
from tests.mutations.looking import INFO, OK, SECOND_NS, pairs, phase_ns
from tests.mutations.partitions import change_record, drop_records, longest
from tests.mutations.suite import VALID, invalid, mutation

RUN = ("recreated",)


class Again(NamedTuple):
    """A topic, its deletion, and the next topic of its name, by calls that were acknowledged.

    Attributes:
        name: the name of both.
        old: the first one's id, which its creation returned.
        new: the second one's.
        deletion: the call that deleted the first one.
        creation: the call that created the second one.
        removed: the call that deleted the second one; None where nobody asked for that.
    """

    name: str
    old: str
    new: str
    deletion: tuple[Operation, Operation]
    creation: tuple[Operation, Operation]
    removed: tuple[Operation, Operation] | None


def recreated(edit: Edit) -> list[Again]:
    """All of them of names of which no change has an unknown fate."""
    calls: dict[str, list[tuple[Operation, Operation]]] = {}
    for call in pairs(edit.original, "create-topic", "delete-topic"):
        calls.setdefault(call[0].key, []).append(call)
    found = []
    for name, some in calls.items():
        if any(ended.type is not OK for _, ended in some):
            continue
        for place in range(len(some) - 2):
            first, second, third = some[place : place + 3]
            after = some[place + 3] if place + 3 < len(some) else None
            if first[0].f == "create-topic" and first[1].value["topic_id"] and third[1].value["topic_id"]:
                ids = first[1].value["topic_id"], third[1].value["topic_id"]
                found.append(Again(name, *ids, second, third, after))
    return found


def alive(edit: Edit) -> list[Again]:
    """Those of which the second topic is there in the end."""
    return [each for each in recreated(edit) if each.removed is None]


def _offsets(edit: Edit, topic_id: str, *kinds: str) -> set[int]:
    records = longest(edit.original).value["records"]
    return {r[0] for r in records if (r[3] or {}).get("topicId") == topic_id and r[2] in (kinds or {r[2]})}


def _at_the_end(edit: Edit) -> list[Operation]:
    return listings(edit, "final-read")


def _listed(edit: Edit, listing: Operation, name: str, topic_id: str | None) -> None:
    """A list has another id of a name; with none, it lacks the name."""
    others = [entry for entry in edit.now(listing.index).value if entry[0] != name]
    edit.set(listing.index, value=[*others, [name, topic_id]] if topic_id else others)


@mutation("recreations", invalid("reused-topic-id"), RUN, 3)
def an_old_id_is_told_again(edit: Edit) -> None:
    """A topic is created under a name again, and the answer has the id of the former topic."""
    again = edit.chosen(recreated(edit))
    edit.change(again.creation[1].index, lambda value: value.update(topic_id=again.old))


@mutation("recreations", invalid("reused-topic-id"), RUN, 2)
def an_id_is_told_of_two_names(edit: Edit) -> None:
    """A topic is created, and the answer has the id of a topic of another name."""
    again = edit.chosen(recreated(edit))
    other = next(each for each in recreated(edit) if each.name != again.name)
    edit.change(again.creation[1].index, lambda value: value.update(topic_id=other.new))


@mutation("recreations", invalid("reused-topic-id"), RUN, 3)
def the_log_gives_an_old_id_again(edit: Edit) -> None:
    """In all metadata logs a topic is created again with the id of the former topic."""
    again = edit.chosen(recreated(edit))
    for offset in _offsets(edit, again.new):
        change_record(edit, offset, lambda data: data.update(topicId=again.old))


@mutation("recreations", invalid("topic-created-twice"), RUN, 3)
def nobody_asked_for_the_deletion_between(edit: Edit) -> None:
    """A topic is created twice, and nobody requested a deletion in between."""
    again = edit.chosen(recreated(edit))
    edit.drop(*(operation.index for operation in again.deletion))


@mutation("recreations", invalid("metadata-ack-lost", "topic-created-twice"), RUN, 3)
def the_deletion_between_is_in_no_log(edit: Edit) -> None:
    """No metadata log has the deletion of a topic whose name was used again."""
    again = edit.chosen(recreated(edit))
    drop_records(edit, _offsets(edit, again.old, "REMOVE_TOPIC_RECORD"))


@mutation("recreations", invalid("metadata-ack-lost"), RUN, 3)
def the_second_creation_is_in_no_log(edit: Edit) -> None:
    """No metadata log has a topic that was created again; they have the former one."""
    again = edit.chosen(recreated(edit))
    drop_records(edit, _offsets(edit, again.new))


@mutation("recreations", invalid("metadata-ack-lost"), RUN, 2)
def the_same_where_no_client_was_told_the_ids(edit: Edit) -> None:
    """The same, and the answers to the creations had no ids."""
    again = edit.chosen(recreated(edit))
    for o in edit.original.of("create-topic"):
        if o.key == again.name and o.type is OK:
            edit.change(o.index, lambda value: value.update(topic_id=None))
    drop_records(edit, _offsets(edit, again.new))


@mutation("recreations", invalid("resurrected-topic"), RUN, 3)
def the_old_topic_is_back_in_the_end(edit: Edit) -> None:
    """After recovery all brokers list a topic that was created again, with the id of the former topic."""
    again = edit.chosen(alive(edit))
    for listing in _at_the_end(edit):
        _listed(edit, listing, again.name, again.old)


@mutation("recreations", invalid("resurrected-topic", "listed-against-log"), RUN, 2)
def a_topic_that_was_deleted_twice_is_back(edit: Edit) -> None:
    """After recovery all brokers list a topic that was created again, and deleted again."""
    gone = [each for each in recreated(edit) if each.removed]
    last = {each.name: each for each in gone}
    again = edit.chosen(each for name, each in last.items() if name not in {e.name for e in alive(edit)})
    for listing in _at_the_end(edit):
        _listed(edit, listing, again.name, again.new)


@mutation("recreations", invalid("lost-topic", "listed-against-log"), RUN, 3)
def the_new_topic_is_not_there_in_the_end(edit: Edit) -> None:
    """After recovery no broker lists a topic that was created again."""
    again = edit.chosen(alive(edit))
    for listing in _at_the_end(edit):
        _listed(edit, listing, again.name, None)


def _quiet(edit: Edit, from_ns: int, to_ns: int) -> bool:
    """Whether no fault began or ended, and no node's process, near a time."""
    near = (from_ns - 2 * SECOND_NS, to_ns + 4 * SECOND_NS)
    events = (o for o in edit.original.operations if o.f in ("inject", "heal") or o.key == "node")
    forced = 0
    for o in edit.original.operations:
        if o.time_ns < from_ns and o.type is OK:
            forced += (o.f == "inject") - (o.f == "heal")
    return not forced and not any(near[0] <= o.time_ns <= near[1] for o in events)


@mutation("recreations", invalid("returned-topic-id"), RUN, 2)
def a_broker_goes_back_to_the_old_topic(edit: Edit) -> None:
    """A broker lists the new topic of a name and then the old one, and no fault hit it in between."""
    found = listings(edit)
    places = []
    for again in recreated(edit):
        listed = [o for o in found if [again.name, again.new] in o.value]
        for place, first in enumerate(listed):
            later = (o for o in listed[place + 1 :] if o.key == first.key)
            second = next(later, None)
            if second and _quiet(edit, first.time_ns - SECOND_NS, second.time_ns):
                places.append((again, second))
    again, listing = edit.chosen(places)
    _listed(edit, listing, again.name, again.old)


@mutation("recreations", VALID, RUN, 2)
def a_broker_is_late(edit: Edit) -> None:
    """A broker still lists the old topic of a name when the new one has been created."""
    places = []
    for again in recreated(edit):
        begun = again.creation[0]
        before = [
            o for o in listings(edit) if o.index > begun.index and o.time_ns < phase_ns(edit.original, "heal")
        ]
        first = {o.key: o for o in reversed(before)}
        seen = (o for o in first.values() if [again.name, again.new] in o.value)
        places += [(again, o) for o in seen if o.time_ns < begun.time_ns + 5 * SECOND_NS]
    again, listing = edit.chosen(places)
    _listed(edit, listing, again.name, again.old)


@mutation("recreations", invalid("changed-topic-id", "listed-against-log"), RUN, 2)
def an_id_that_nobody_gave(edit: Edit) -> None:
    """A broker lists a topic that was created again, with an id that no answer and no log has."""
    again = edit.chosen(recreated(edit))
    listing = next(o for o in listings(edit) if [again.name, again.new] in o.value)
    _listed(edit, listing, again.name, "AbCdEfGhIjKlMnOpQrStUw")


@mutation("recreations", invalid("listed-against-log"), RUN, 2)
def the_new_topic_is_listed_before_it_was_made(edit: Edit) -> None:
    """A broker lists a topic with the id that its name gets later."""
    again = edit.chosen(recreated(edit))
    early = [
        o
        for o in listings(edit)
        if [again.name, again.old] in o.value and o.time_ns < again.deletion[0].time_ns - 2 * SECOND_NS
    ]
    if not early:
        edit.give_up(f"no list of {again.name} long before its deletion")
    _listed(edit, early[0], again.name, again.new)


@mutation("recreations", VALID, RUN, 2)
def the_fate_of_a_second_deletion_is_unknown(edit: Edit) -> None:
    """The deletion of the second topic of a name got no answer."""
    again = edit.chosen(each for each in recreated(edit) if each.removed)
    edit.set(again.removed[1].index, type=INFO, error="_TIMED_OUT")
    for o in edit.original.operations:
        if o.process == again.removed[1].process and o.index > again.removed[1].index:
            edit.set(o.index, process=986_000)


def _fetches(edit: Edit) -> list[tuple[Operation, Any, int]]:
    """Fetches of topics that were created again, with a value of the old one, and one of the new or none."""
    values: dict[str, int] = {}
    for asked, ended in pairs(edit.original, "append-record"):
        if ended.type is OK:
            values[ended.value["topic_id"]] = asked.value["value"]
    fetches = [o for o in edit.original.of("fetch-records") if o.type is OK]
    return [
        (fetched, values.get(again.new), values[again.old])
        for again in recreated(edit)
        for fetched in fetches
        if fetched.value["topic_id"] == again.new and again.old in values
    ]


@mutation("recreations", invalid("deleted-topic-read"), RUN, 3)
def a_record_of_the_old_topic(edit: Edit) -> None:
    """A fetch of a topic that was created again returns a record of the former topic."""
    fetched, _, old = edit.chosen(_fetches(edit))
    edit.change(fetched.index, lambda value: value.update(records=[[0, old]]))


@mutation("recreations", invalid("deleted-topic-read"), RUN, 2)
def a_log_that_goes_on(edit: Edit) -> None:
    """The log of a topic that was created again continues after the records of the former topic."""
    fetched, new, _ = edit.chosen(each for each in _fetches(edit) if each[1] is not None)
    edit.change(fetched.index, lambda value: value.update(records=[[1, new]]))


@mutation("recreations", VALID, RUN, 1)
def a_follower_that_knows_no_record_yet(edit: Edit) -> None:
    """A fetch of a topic that was created again returns nothing yet."""
    fetched, _, _ = edit.chosen(_fetches(edit))
    edit.change(fetched.index, lambda value: value.update(records=[]))
