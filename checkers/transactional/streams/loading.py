"""Loads what an application of Kafka Streams read, wrote and committed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from checkers.history.commits import GroupFound
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.setup import Setup, recorded_setup
from checkers.history.streams import OutputRead, OutputRow, StreamsReported

Place = tuple[int, int]
"""A partition of the input and an offset."""
SendRequest = dict[str, int] | list[tuple[int, int | str]]
"""The value of the invocation of a send, as docs/histories.md has it."""
_OUTPUT_READ = "read-output"


class OutputRecord(NamedTuple):
    """A committed record of the output.

    Attributes:
        partition: number of its partition.
        offset: its offset.
        read: index of the operation that read it.
        member: name of the member that wrote it.
        place: the record of the input that it stands for.
        key: the key that it has.
        counted: the count that it has.
        value: the value that it has.
    """

    partition: int
    offset: int
    read: int
    member: str
    place: Place
    key: str
    counted: int
    value: int | str


class Foreign(NamedTuple):
    """A record of the output that the application did not write, and the operation that read it."""

    partition: int
    offset: int
    text: str
    read: int


class Answer(NamedTuple):
    """The group's offsets by partition, 0 if there is none, and the operation that returned them."""

    operation: int
    offsets: Mapping[int, int]


class Report(NamedTuple):
    """What a member of the load reported at a time."""

    time_ns: int
    state: str
    processed: int


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of the application, and their numbers of partitions."""

    source: str
    output: str
    changelog: str
    partitions: Mapping[str, int]


@dataclass(slots=True)
class Application:
    """All records of a history about an application.

    Attributes:
        group: id of the application and of its group.
        counters: number of keys: the key of a value is its remainder.
        topics: its topics.
        inputs: value of each record of the input, by partition and offset.
        outputs: committed records of the output, by partition and offset.
        foreign: records of the output that it did not write.
        unread: topic and number of each partition that was not read to its end.
        ends: the highest end that a final read of each partition of the input listed.
        sent_ns: when the send of each value was invoked.
        before: the group's offsets that were returned before any read of the output began.
        after: the group's offsets that were returned last, after all reads of the output; None if none were.
        reports: what each member of the load reported.
        last: names of members that worked after all faults and all members of the load.
        named: names of all members that an operation names.
        exceptions: the last exception that each member of the load reported, or why it reported nothing.
        read_ns: when the last read ended.
    """

    group: str
    counters: int
    topics: Topics
    inputs: dict[int, dict[int, int | str]] = field(default_factory=dict)
    outputs: list[OutputRecord] = field(default_factory=list)
    foreign: list[Foreign] = field(default_factory=list)
    unread: list[tuple[str, int]] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    sent_ns: dict[int | str, int] = field(default_factory=dict)
    before: list[Answer] = field(default_factory=list)
    after: Answer | None = None
    reports: dict[str, list[Report]] = field(default_factory=lambda: defaultdict(list))
    last: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    exceptions: dict[str, str] = field(default_factory=dict)
    read_ns: int = 0

    def is_late(self, place: Place) -> bool:
        """Whether a place of the input is at or above the end that its final reads listed."""
        return place[0] in self.ends and place[1] >= self.ends[place[0]]


def application_of(history: History) -> Application | None:
    """The application of a history; None if its workload is another one.

    Args:
        history: as `checkers.history.reading.read_history` returns it: its shapes are not checked again here.
    """
    setup = recorded_setup(history)
    if setup.workload.kind != "streams":
        return None
    loaded = Application(setup.workload.application, setup.workload.counters, _topics(setup))
    _load_sends(history, loaded)
    _load_inputs(history, loaded)
    _load_outputs(history, loaded)
    _load_offsets(history, loaded)
    _load_reports(history, loaded)
    return loaded


def _topics(setup: Setup) -> Topics:
    """The topics: the load writes to the input; the changelog is named after the application."""
    changelog = f"{setup.workload.application}-counts-changelog"
    source = next((each.name for each in setup.topics if each.loaded), "")
    others = (each.name for each in setup.topics if each.name not in {source, changelog})
    return Topics(source, next(others, ""), changelog, {each.name: each.partitions for each in setup.topics})


def _load_sends(history: History, loaded: Application) -> None:
    for operation in history.of("send"):
        if operation.type is INVOKE and operation.key == loaded.topics.source:
            for value in _sent(operation.value):
                loaded.sent_ns.setdefault(value, operation.time_ns)


def _sent(value: SendRequest) -> Iterator[int | str]:
    """The values that a send asked for; a run is shorter."""
    if isinstance(value, dict):
        yield from range(value["first"], value["first"] + value["count"])
    else:
        yield from (one for _, one in value)


def _load_inputs(history: History, loaded: Application) -> None:
    source, whole = loaded.topics.source, set()
    for operation in history.of("final-read"):
        if operation.key != source or operation.type is not OK:
            continue
        number = operation.value["partition"]
        whole.add(number)
        loaded.ends[number] = max(loaded.ends.get(number, 0), operation.value["end"])
        loaded.read_ns = max(loaded.read_ns, operation.time_ns)
        for partition, offsets, values in operation.value["records"]:
            loaded.inputs.setdefault(partition, {}).update(zip(offsets, values, strict=True))
    _add_unread(loaded, source, whole)


def _load_outputs(history: History, loaded: Application) -> None:
    whole = set()
    for operation in history.of(_OUTPUT_READ):
        if operation.key != loaded.topics.output or operation.type is not OK:
            continue
        read = msgspec.convert(operation.value, OutputRead)
        loaded.outputs += [_record(read.partition, operation.index, row) for row in read.records]
        loaded.foreign += [Foreign(read.partition, *one, operation.index) for one in read.foreign]
        whole.add(read.partition)
        loaded.read_ns = max(loaded.read_ns, operation.time_ns)
    loaded.outputs.sort()
    _add_unread(loaded, loaded.topics.output, whole)


def _record(partition: int, read: int, row: OutputRow) -> OutputRecord:
    offset, member, source, source_offset, key, count, value = row
    return OutputRecord(partition, offset, read, member, (source, source_offset), key, count, value)


def _add_unread(loaded: Application, topic: str, whole: set[int]) -> None:
    wanted = range(loaded.topics.partitions.get(topic, 0))
    loaded.unread += [(topic, number) for number in wanted if number not in whole]


def _load_offsets(history: History, loaded: Application) -> None:
    reads = [o for o in history.of(_OUTPUT_READ) if o.key == loaded.topics.output]
    began = min((o.index for o in reads if o.type is INVOKE), default=len(history.operations))
    ended = max((o.index for o in reads if o.type is not INVOKE), default=len(history.operations))
    asked: dict[int | str, Operation] = {}
    for operation in history.of("committed-offsets"):
        if operation.type is INVOKE:
            asked[operation.process] = operation
        elif operation.type is OK and operation.key == loaded.group:
            answer = _answer(operation)
            if operation.index < began:
                loaded.before.append(answer)
            invoked = asked.get(operation.process)
            if invoked is not None and invoked.index > ended:
                loaded.after = answer
                loaded.read_ns = max(loaded.read_ns, operation.time_ns)


def _answer(operation: Operation) -> Answer:
    found = msgspec.convert(operation.value, GroupFound)
    return Answer(operation.index, {partition: offset or 0 for partition, offset in found.offsets})


def _load_reports(history: History, loaded: Application) -> None:
    for f in ("streams-status", "end-member"):
        loaded.named |= {o.value["member"] for o in history.of(f) if o.key == loaded.group}
    for operation in history.of("streams-status"):
        if operation.key != loaded.group:
            continue
        if operation.error is not None and not operation.value["last"]:
            loaded.exceptions[operation.value["member"]] = operation.error
        if operation.type is not OK:
            continue
        seen = msgspec.convert(operation.value, StreamsReported)
        if seen.last:
            loaded.last.add(seen.member)
        else:
            loaded.reports[seen.member].append(Report(operation.time_ns, seen.state, seen.processed))
            if seen.exception is not None:
                loaded.exceptions[seen.member] = seen.exception


def by_place(outputs: Sequence[OutputRecord]) -> dict[Place, list[OutputRecord]]:
    """The records of the output that stand for each record of the input."""
    found: dict[Place, list[OutputRecord]] = defaultdict(list)
    for record in outputs:
        found[record.place].append(record)
    return found
