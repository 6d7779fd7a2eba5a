"""The seven rules about the output of an application that counts records exactly once."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.history.operations import History
from checkers.transactional.streams.anomalies import (
    COUNT_WRONG,
    DUPLICATED,
    INVENTED,
    LOST,
    MISPLACED,
    REORDERED,
    WITHOUT_OFFSETS,
)
from checkers.transactional.streams.loading import Application, Foreign, OutputRecord, Place, by_place
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly


class StreamsFinding(NamedTuple):
    """An anomaly, the record of the input that it concerns, and the partitions of the output that matter.

    The place is None if no loss explains the anomaly: a record of the output names no input, or is in the
    wrong partition.  It is too low if a count is below the right one.
    """

    anomaly: Anomaly
    place: Place | None
    outputs: tuple[int, ...] = ()
    too_low: bool = False


class Judging:
    """One history in which the rules look for anomalies.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        loaded: its application.
    """

    def __init__(self, history: History, loaded: Application) -> None:
        self._history = history
        self._loaded = loaded
        self._of_place = by_place(loaded.outputs)
        self._whole_input = _whole(loaded, loaded.topics.source)
        self._whole_output = _whole(loaded, loaded.topics.output)

    def findings(self) -> Iterator[StreamsFinding]:
        """All findings, whether an event permits them or not."""
        rules: tuple[Callable[[], Iterator[StreamsFinding]], ...] = (
            self._duplicated,
            self._lost,
            self._without_offsets,
            self._wrongly_counted,
            self._invented,
            self._reordered,
            self._misplaced,
        )
        for rule in rules:
            yield from rule()

    def _duplicated(self) -> Iterator[StreamsFinding]:
        for place, records in self._of_place.items():
            if len(records) > 1:
                what = f"{self._input(place)} has {len(records)} committed outputs"
                yield self._found(DUPLICATED, what, place, records)

    def _lost(self) -> Iterator[StreamsFinding]:
        """Missing outputs.

        Only offsets count that were returned before the output was read.  The output of a record is in the
        partition of the same number, unless something is wrong, so all partitions must have been read.
        """
        if not all(self._whole_output.values()):
            return
        bounds: dict[int, tuple[int, int]] = {}
        for answer in self._loaded.before:
            for partition, offset in answer.offsets.items():
                bounds[partition] = max(bounds.get(partition, (0, 0)), (offset, answer.operation))
        for partition, (bound, operation) in bounds.items():
            for offset in sorted(self._loaded.inputs.get(partition, ())):
                place = (partition, offset)
                if offset < bound and place not in self._of_place:
                    what = f"{self._input(place)} has no committed output, and the group continues at {bound}"
                    yield self._found(LOST, what, place, (), operation)

    def _without_offsets(self) -> Iterator[StreamsFinding]:
        after = self._loaded.after
        if after is None:
            return
        for place, records in self._of_place.items():
            bound = after.offsets.get(place[0])
            if bound is not None and place[1] >= bound:
                what = f"{self._input(place)} has a committed output, but the group continues at {bound}"
                yield self._found(WITHOUT_OFFSETS, what, place, records, after.operation)

    def _wrongly_counted(self) -> Iterator[StreamsFinding]:
        """Wrong counts; records that are not in the input have no right one."""
        for partition, inputs in self._loaded.inputs.items():
            for offset, (key, count) in _counts(inputs, self._loaded.counters).items():
                place = (partition, offset)
                for record in self._of_place.get(place, ()):
                    if record.counted != count and record.value == inputs[offset] and record.key == key:
                        what = (
                            f"{self._input(place)} is record {count} of key {key} in its partition, and was "
                            f"counted as {record.counted}"
                        )
                        found = self._found(COUNT_WRONG, what, place, [record])
                        yield found._replace(too_low=record.counted < count)

    def _invented(self) -> Iterator[StreamsFinding]:
        """Outputs without an input; the input may have got records after its final reads (`doubts`)."""
        for place, records in self._of_place.items():
            if not self._whole_input.get(place[0], True) or self._loaded.is_late(place):
                continue
            value = self._loaded.inputs.get(place[0], {}).get(place[1])
            for record in records:
                if value is None:
                    why = "which the input does not have"
                elif record.value != value:
                    why = f"whose value is {value!r} and not {record.value!r}"
                elif record.key != _key(value, self._loaded.counters):
                    why = f"whose key is {_key(value, self._loaded.counters)} and not {record.key}"
                else:
                    continue
                what = f"{self._output(record)} stands for {self._input(place)}, {why}"
                yield self._found(INVENTED, what, place, [record])
        for foreign in self._loaded.foreign:
            yield self._foreign(foreign)

    def _reordered(self) -> Iterator[StreamsFinding]:
        """Records after a later one of the same input; another rule finds those with several outputs."""
        highest: dict[tuple[int, int], OutputRecord] = {}
        for record in self._loaded.outputs:
            if len(self._of_place[record.place]) > 1:
                continue
            stream = (record.partition, record.place[0])
            before = highest.get(stream)
            if before is not None and before.place > record.place:
                what = (
                    f"{self._output(record)} stands for {self._input(record.place)}, and comes after "
                    f"{self._output(before)}, which stands for {self._input(before.place)}"
                )
                yield self._found(REORDERED, what, record.place, [before, record])
            else:
                highest[stream] = record

    def _misplaced(self) -> Iterator[StreamsFinding]:
        """Records in another partition: the application's partitioner returns that of the input."""
        for record in self._loaded.outputs:
            if record.partition != record.place[0]:
                what = (
                    f"{self._output(record)} stands for {self._input(record.place)}, and belongs in "
                    f"partition {record.place[0]}"
                )
                found = self._found(MISPLACED, what, record.place, [record])
                yield found._replace(place=None)

    def _found(
        self,
        kind: AnomalyKind,
        what: str,
        place: Place,
        records: Sequence[OutputRecord],
        operation: int | None = None,
    ) -> StreamsFinding:
        witness = {record.read for record in records} | ({operation} if operation is not None else set())
        anomaly = kind.found(
            what,
            subject=self._input(place),
            time_ns=self._history.operations[max(witness)].time_ns,
            witness=sorted(witness),
            explanation=[
                f"{self._output(record)} stands for it with count {record.counted}. {record.member} wrote it."
                for record in records
            ],
        )
        return StreamsFinding(anomaly, place, (place[0], *(record.partition for record in records)))

    def _foreign(self, foreign: Foreign) -> StreamsFinding:
        where = f"{PartitionName(self._loaded.topics.output, foreign.partition)}@{foreign.offset}"
        anomaly = INVENTED.found(
            f"{where} is no record of the application: {foreign.text}",
            subject=where,
            time_ns=self._history.operations[foreign.read].time_ns,
            witness=[foreign.read],
            explanation=[],
        )
        return StreamsFinding(anomaly, None)

    def _input(self, place: Place) -> str:
        return f"{PartitionName(self._loaded.topics.source, place[0])}@{place[1]}"

    def _output(self, record: OutputRecord) -> str:
        return f"{PartitionName(self._loaded.topics.output, record.partition)}@{record.offset}"


def _whole(loaded: Application, topic: str) -> dict[int, bool]:
    """For each partition, whether it was read to its end."""
    wanted = range(loaded.topics.partitions.get(topic, 0))
    return {partition: (topic, partition) not in loaded.unread for partition in wanted}


def _counts(inputs: Mapping[int, int | str], counters: int) -> dict[int, tuple[str, int]]:
    """Key and count of each record of a partition, by its offset."""
    seen: Counter[str] = Counter()
    found: dict[int, tuple[str, int]] = {}
    for offset in sorted(inputs):
        key = _key(inputs[offset], counters)
        seen[key] += 1
        found[offset] = (key, seen[key])
    return found


def _key(value: int | str, counters: int) -> str:
    """The key of a record, by its value; a text that is no key if another run wrote the record."""
    return str(value % counters) if isinstance(value, int) else "(unknown)"
