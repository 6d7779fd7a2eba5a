"""Start offsets of share groups that an administrator set while the members had left."""

from tests.mutations.edits import Edit
from tests.mutations.families.share import MS_NS, RUNS, drained
from tests.mutations.looking import SECOND_NS, phase_ns
from tests.mutations.suite import invalid, mutation

GROUP = "share-0"


@mutation("share", invalid("share-start-not-set"), RUNS, 3)
def the_start_offset_was_set_above_a_record_that_is_delivered_then(edit: Edit) -> None:
    """After the load the start offset is set above a record that the last member then receives."""
    one = edit.chosen(drained(edit))
    # The members of the load have left a second before this phase begins.
    at_ns = phase_ns(edit.original, "final-read") - SECOND_NS // 2
    asked = {"topic": one.poll.key, "turn": 1, "to": 1, "partition": one.partition, "offset": one.offset + 1}
    values = (asked, asked | {"code": 0})
    edit.add_call("altering", "alter-share-offsets", GROUP, (at_ns, at_ns + MS_NS), values)
