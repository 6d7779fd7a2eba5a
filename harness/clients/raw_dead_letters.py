"""Records of dead-letter queues of share groups (KIP-1191) with their headers, by single requests.

The libraries' consumers of the load return values alone.
"""

from typing import NamedTuple

from kafka.protocol.consumer import FetchResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.record import MemoryRecords

from harness.clients.raw_records import fetch_request
from harness.kafka.wire import Connection, WireError

PREFIX = "__dlq.errors."
"""How the names of the headers begin that brokers add."""
_BY_NAME = 12
"""The last version of Fetch that has names of topics."""


class Letter(NamedTuple):
    """A record of a dead-letter queue: its offset, the headers that brokers added, and its value."""

    offset: int
    headers: dict[str, str]
    value: bytes | None


class LettersFetched(NamedTuple):
    """Answer to a Fetch: the partition's high watermark, and records."""

    end: int
    letters: list[Letter]


def leader_id(connection: Connection, topic: str, partition: int) -> int:
    """Id of the leader of a partition, according to one broker.

    Raises:
        WireError: no answer, or the broker knows no leader.
    """
    wanted = [MetadataRequest.MetadataRequestTopic(name=topic)]
    answer = connection.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), MetadataResponse)
    states = (state for each in answer.topics for state in each.partitions)
    found = next((state.leader_id for state in states if state.partition_index == partition), -1)
    if found < 0:
        raise WireError(f"{topic}/{partition} has no leader")
    return int(found)


def fetch_letters(connection: Connection, topic: str, partition: int, offset: int) -> LettersFetched:
    """Fetch records of a partition from an offset on; the broker must lead it.

    Raises:
        WireError: no answer, or an error.
    """
    request = fetch_request(partition, offset, topic=topic)
    answer = connection.ask(request, FetchResponse, at_most=_BY_NAME)
    state = answer.responses[0].partitions[0] if answer.responses else None
    code = answer.error_code or (-1 if state is None else state.error_code)
    if code or state is None:
        raise WireError(f"Fetch of {topic}/{partition} answered error {code}")
    return LettersFetched(state.high_watermark, _letters(state.records or b""))


def _letters(data: bytes) -> list[Letter]:
    found: list[Letter] = []
    batches = MemoryRecords(data)
    while batches.has_next():
        for record in batches.next_batch():
            ours = {
                name: (text or b"").decode(errors="replace")
                for name, text in record.headers
                if name.startswith(PREFIX)
            }
            found.append(Letter(record.offset, ours, record.value))
    return found
