"""The last records of partitions, as a consumer gets them."""

import pytest

from harness.clients import ClientKind, Isolation, ReadError
from harness.workloads.last_records import last_records
from tests.harness.fakes.log import FakeLog, once

VALUE = b"run:1"


def lasts(log: FakeLog, timeout_s: float = 5.0) -> dict[int, int]:
    client = log.consumer(ClientKind.KAFKA_PYTHON, "log-0", Isolation.READ_COMMITTED)
    return last_records(client, range(len(log.partitions)), timeout_s)


def test_markers_after_the_last_record_do_not_count() -> None:
    log = FakeLog(2)
    log.partitions = [[VALUE] * 7, [VALUE] * 3]
    log.controls = {(0, 6), (0, 5), (1, 0)}
    assert lasts(log) == {0: 4, 1: 2}


def test_a_partition_without_records_has_no_last_one() -> None:
    log = FakeLog(2)
    log.partitions = [[], [VALUE] * 2]
    log.controls = {(1, 0), (1, 1)}
    assert lasts(log) == {}


def test_only_the_end_of_a_long_log_is_read() -> None:
    log = FakeLog(1)
    log.partitions = [[VALUE] * 1_000]
    positions: list[int] = []

    def assigned(given: object) -> None:
        assert isinstance(given, dict)
        positions.extend(given.values())

    log.on_assign = assigned
    assert lasts(log) == {0: 999}
    assert positions == [800]


def test_a_partition_that_is_not_read_to_its_end_in_time_is_left_out() -> None:
    log = FakeLog(1)
    log.partitions = [[VALUE] * 2]
    assert lasts(log, timeout_s=1e-9) == {}


@pytest.mark.parametrize("hook", ["on_offsets", "on_poll"])
def test_what_a_consumer_can_not_read_is_an_error(hook: str) -> None:
    log = FakeLog(1)
    log.partitions = [[VALUE]]
    setattr(log, hook, once(ReadError("gone")))
    with pytest.raises(ReadError, match="gone"):
        lasts(log)
