"""Logs of removed topics, of replicas that are elsewhere, and logs that lack, on disks at the end."""

from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import SECOND_NS
from tests.mutations.partitions import longest, spans, states
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUN = ("strays",)


def _folders(edit: Edit) -> list[Operation]:
    return list(edit.original.observed("folders"))


def _removed(edit: Edit) -> list[tuple[str, int]]:
    """Ids of the topics that were removed, and since when that was committed, in the order of the log."""
    span = spans(edit.original)
    records = longest(edit.original).value["records"]
    return [(r[3]["topicId"], span(r[0])[1]) for r in records if r[2] == "REMOVE_TOPIC_RECORD"]


def _found(edit: Edit, listed: Operation, name: str, topic_id: str, **fields: Any) -> None:
    """A broker has one more folder."""
    edit.change(
        listed.index, lambda value: value | {"folders": [*value["folders"], [name, topic_id]]} | fields
    )


@mutation("strays", invalid("stray-replica"), RUN, 3)
def a_log_of_a_removed_topic(edit: Edit) -> None:
    """A broker still has the log of a topic that was deleted long ago."""
    listed = _folders(edit)[edit.place]
    early = [
        topic for topic, time_ns in _removed(edit) if time_ns < listed.value["began_ns"] - 15 * SECOND_NS
    ]
    _found(edit, listed, "gone-0", edit.chosen(early))


@mutation("strays", invalid("stray-replica"), RUN, 3)
def a_log_that_was_not_set_aside(edit: Edit) -> None:
    """A folder that a broker marked for deletion has its former name."""
    listed = _folders(edit)[edit.place]
    removed = dict(_removed(edit))
    aside = [
        at
        for at, (name, topic_id) in enumerate(listed.value["folders"])
        if not name[-1].isdigit()
        and removed.get(topic_id, listed.time_ns) < listed.value["began_ns"] - 15 * SECOND_NS
    ]
    at = edit.chosen(aside)

    def change(value: dict[str, Any]) -> None:
        value["folders"][at][0] = value["folders"][at][0].rpartition(".")[0]

    edit.change(listed.index, change)


@mutation("strays", invalid("stray-replica"), RUN, 2)
def a_log_of_a_replica_that_is_elsewhere(edit: Edit) -> None:
    """A broker has the log of a partition of which it was never to be a replica."""
    listed = _folders(edit)[edit.place]
    ids = {node["name"]: node["id"] for node in edit.original.of("setup")[0].value["nodes"]}
    removed = {topic_id for topic_id, _ in _removed(edit)}
    settled_ns = listed.value["began_ns"] - 15 * SECOND_NS
    elsewhere = [
        state
        for state in states(edit.original)
        if ids[listed.node or ""] not in state.replicas
        and state.topic_id not in removed
        and spans(edit.original)(state.offset)[1] < settled_ns
    ]
    state = edit.chosen(elsewhere)
    _found(edit, listed, f"{state.topic}-{state.partition}", state.topic_id)


@mutation("strays", invalid("missing-replica"), RUN, 2)
def a_log_of_a_replica_that_is_not_there(edit: Edit) -> None:
    """A broker has no log of a partition of which it has been a replica for long."""
    listed = _folders(edit)[edit.place]
    broker = {node["name"]: node["id"] for node in edit.original.of("setup")[0].value["nodes"]}[
        listed.node or ""
    ]
    settled_ns = listed.value["began_ns"] - 15 * SECOND_NS
    held = {
        f"{state.topic}-{state.partition}"
        for state in states(edit.original)
        if broker in state.replicas and spans(edit.original)(state.offset)[1] < settled_ns
    }
    name = edit.chosen([name for name, _ in listed.value["folders"] if name in held])
    edit.change(
        listed.index,
        lambda value: value | {"folders": [each for each in value["folders"] if each[0] != name]},
    )


@mutation("strays", VALID, RUN, 3)
def a_log_that_is_to_be_deleted(edit: Edit) -> None:
    """A broker has not yet deleted the folders of a deleted topic that it marked for deletion."""
    endings = ("delete", "stray", "delete")
    topic_id, _ = _removed(edit)[0]
    _found(edit, _folders(edit)[edit.place], f"gone-0.0a1b2c3d-{endings[edit.place]}", topic_id)


@mutation("strays", VALID, RUN, 1)
def a_log_of_a_topic_that_was_removed_a_moment_ago(edit: Edit) -> None:
    """A broker's disks are read five seconds after the last topic was deleted, and have its log."""
    topic_id, time_ns = _removed(edit)[-1]
    _found(edit, _folders(edit)[0], "gone-0", topic_id, began_ns=time_ns + 5 * SECOND_NS)


@mutation("strays", unknown("folders-covered"), RUN, 2)
def a_broker_whose_folders_nobody_told(edit: Edit) -> None:
    """The folders of a broker were not recorded."""
    edit.drop(edit.chosen(_folders(edit)).index)
