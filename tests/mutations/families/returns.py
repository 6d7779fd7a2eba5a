"""Elections that a controller writes when it unfences a broker."""

from collections.abc import Iterator

from checkers.history.operations import History
from tests.mutations.edits import Edit
from tests.mutations.partitions import CHANGE, drop_records, longest
from tests.mutations.suite import invalid, mutation

RUNS = ("chaos", "outsiders")
REGISTRATION = "BROKER_REGISTRATION_CHANGE_RECORD"
UNFENCED = -1


@mutation("returns", invalid("return-without-election"), RUNS, 1)
def a_broker_that_returns_is_not_elected(edit: Edit) -> None:
    """A broker that may lead a partition without a leader returns, and no record elects it."""
    drop_records(edit, {edit.chosen(elected_by_returns(edit.original))})


def elected_by_returns(history: History) -> Iterator[int]:
    """Offsets of the first elections that directly follow the record that unfences a broker."""
    records = {offset: (kind, data) for offset, _, kind, data in longest(history).value["records"]}
    for offset, (kind, data) in records.items():
        before, registration = records.get(offset - 1, ("", {}))
        back = before == REGISTRATION and registration.get("fenced") == UNFENCED
        if back and kind == CHANGE and data.get("leader") == registration["brokerId"]:
            yield offset
