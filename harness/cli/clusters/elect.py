"""``krucible elect``: requests leader elections (KIP-460), and reports Kafka's answer for each partition."""

import json
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import click
import msgspec

from checkers.history.error_codes import ErrorCode, error_name, named_code
from harness.administration.addressing import Reach, reach_options
from harness.administration.elections import (
    ElectionAnswer,
    ElectionResult,
    elect_leaders,
)
from harness.cli.options.shared import VocabularyChoice, WholeNumber
from harness.cli.options.structs import gathered
from harness.cli.parsing import Command
from harness.errors import KrucibleError, UsageError
from harness.kafka.wire import WireError
from harness.vocabulary.administration import ElectionType
from results.markup.cleaning import clean

KAFKA_TIMEOUT_MS = 60_000
"""Kafka's own default for this request."""
TIMEOUT_MAX_MS = 3_600_000
REFUSED = 1
NO_ANSWER = KrucibleError.exit_code
_MESSAGE_MAX = 300
_SHAPE = '{"partitions":[{"topic":"foo","partition":1}]}'
_INT32_MAX = 2**31 - 1

Partitions = tuple[tuple[str, int], ...]

P = ParamSpec("P")
R = TypeVar("R")


class _ListedPartition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the file. An unknown field, such as ``election`` of the draft, is an error."""

    topic: Annotated[str, msgspec.Meta(min_length=1)]
    partition: Annotated[int, msgspec.Meta(ge=0, le=_INT32_MAX)]


class _Places(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of partitions that `--file` names."""

    partitions: Annotated[tuple[_ListedPartition, ...], msgspec.Meta(min_length=1)]


class ElectionCounts(msgspec.Struct, frozen=True):
    """The number of partitions by outcome."""

    elected: int
    not_needed: int
    refused: int
    unanswered: int

    @property
    def exit_code(self) -> int:
        """1 if any was refused, 3 if Kafka's answer lacks a named partition, else 0."""
        if self.refused:
            return REFUSED
        return NO_ANSWER if self.unanswered else 0


class _Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The options that select partitions."""

    topic: str | None
    partition: tuple[int, ...]
    every: bool
    file: Path | None

    def partitions(self) -> Partitions | None:
        """Return the selected partitions; None for all partitions.

        Raises:
            UsageError: if there is not exactly one selection, or the file does not have the expected form.
        """
        topic, partition, every, file = self.topic, self.partition, self.every, self.file
        one_topic = topic is not None or bool(partition)
        if one_topic + every + (file is not None) != 1:
            raise UsageError(
                "no partitions are selected"
                if not (one_topic or every or file)
                else "partitions are selected in more than one way",
                expected="exactly one of: --topic T with --partition N, --all, --file FILE",
                next_step="krucible elect --help",
            )
        if file is not None:
            return _from_file(file)
        if every:
            return None
        if not topic or not partition:
            raise UsageError(
                "--topic and --partition belong together",
                got="--topic without --partition" if topic else "--partition without --topic",
                expected="--topic T --partition N",
                next_step="krucible elect --help",
            )
        return tuple((topic, number) for number in partition)


def _selecting(function: Callable[Concatenate[Partitions | None, P], R]) -> Callable[P, R]:
    """Pass the selected partitions to a command as its first argument, before any node is contacted."""

    @wraps(function)
    def selecting(selection: _Selection, /, *args: P.args, **given: P.kwargs) -> R:
        return function(selection.partitions(), *args, **given)

    return gathered(_Selection)(selecting)


@click.command(cls=Command)
@click.option(
    "--type", "election", type=VocabularyChoice(list(ElectionType)), required=True, help="Type of election."
)
@click.option("--topic", metavar="T", help="Topic of the partitions.")
@click.option(
    "--partition",
    type=WholeNumber(0, _INT32_MAX),
    multiple=True,
    help="Partition of the topic; repeatable.",
)
@click.option("--all", "every", is_flag=True, help="All partitions of the cluster.")
@click.option(
    "--file", type=click.Path(path_type=Path), help=f"JSON file that lists the partitions: {_SHAPE}"
)
@click.option(
    "--timeout-ms",
    type=WholeNumber(1, TIMEOUT_MAX_MS),
    default=KAFKA_TIMEOUT_MS,
    show_default=True,
    help="How long Kafka may take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_selecting
@reach_options
def elect(
    reach: Reach, partitions: Partitions | None, *, election: ElectionType, timeout_ms: int, as_json: bool
) -> int:
    """Elect leaders: the preferred replicas, or any live replica if a partition has no leader.

    Exits with 0 if every partition was elected or needed no election, with 1 if any was refused.  An unclean
    election can lose acknowledged records.
    """
    address = (reach.brokers or reach.controllers)[0]
    try:
        answer = elect_leaders(address, election, partitions, timeout_ms)
    except WireError as error:
        raise KrucibleError(
            "no answer to the election",
            got=str(error),
            expected="an answer; without one the election may have been held, or may still be",
            where=reach.names[address],
            next_step="ask again: a partition that was elected needs no election",
        ) from error
    tally = _tallied(answer, partitions)
    if as_json:
        click.echo(msgspec.json.encode(_as_json(answer, election, tally)).decode())
    else:
        _print_answer(answer, election, partitions, tally)
    return REFUSED if answer.code else tally.exit_code


def _from_file(file: Path) -> Partitions:
    try:
        # The standard library reports the line and column of an error; msgspec reports the field.
        places = msgspec.convert(json.loads(file.read_bytes()), _Places).partitions
    except (OSError, ValueError, RecursionError) as error:
        refusal = error.strerror if isinstance(error, OSError) else None
        raise UsageError(
            "this file names no partitions",
            got=clean(refusal or str(error), _MESSAGE_MAX),
            expected=_SHAPE,
            where=str(file),
            next_step="correct it as docs/elections.md says, or name another file",
        ) from error
    named = tuple((place.topic, place.partition) for place in places)
    twice = [f"{topic}-{number}" for (topic, number), times in Counter(named).items() if times > 1]
    if twice:
        raise UsageError(
            "this file names partitions twice",
            got=clean(", ".join(twice), _MESSAGE_MAX),
            expected="each once",
            where=str(file),
            next_step="remove what is there twice",
        )
    return named


def _tallied(answer: ElectionAnswer, partitions: Partitions | None) -> ElectionCounts:
    codes = [result.code for result in answer.results]
    elected, not_needed = codes.count(ErrorCode.NONE), codes.count(ErrorCode.ELECTION_NOT_NEEDED)
    return ElectionCounts(
        elected, not_needed, len(codes) - elected - not_needed, len(_unanswered(answer, partitions))
    )


def _unanswered(answer: ElectionAnswer, partitions: Partitions | None) -> Partitions:
    """The named partitions that are not in the answer."""
    answered = {(result.topic, result.partition) for result in answer.results}
    return tuple(place for place in dict.fromkeys(partitions or ()) if place not in answered)


def _print_answer(
    answer: ElectionAnswer, election: ElectionType, partitions: Partitions | None, tally: ElectionCounts
) -> None:
    for result in sorted(answer.results, key=lambda each: (each.topic, each.partition)):
        click.echo(f"{_clean(result.topic)}-{result.partition}  {_words(result)}")
    if answer.code:
        click.echo(f"the request was refused: {_error(answer.code)}")
        return
    for topic, number in _unanswered(answer, partitions):
        click.echo(f"{_clean(topic)}-{number}  no answer")
    counts = [f"{tally.elected} elected", f"{tally.not_needed} already elected", f"{tally.refused} refused"]
    if partitions is None:
        counts[1] = "all others needed none"
    if tally.unanswered:
        counts.append(f"{tally.unanswered} without an answer")
    click.echo(f"{election} election: {', '.join(counts)}")


def _words(result: ElectionResult) -> str:
    if result.code == ErrorCode.NONE:
        return "elected"
    if result.code == ErrorCode.ELECTION_NOT_NEEDED:
        return f"already elected ({result.code})"
    return f"error {_error(result.code)}" + (f": {_clean(result.message)}" if result.message else "")


def _error(code: int) -> str:
    """Return an error's name and code. For a timeout, add that the election may still be held."""
    still = "; the election may still be held" if code == ErrorCode.REQUEST_TIMED_OUT else ""
    return f"{named_code(code)}{still}"


def _clean(text: str) -> str:
    return clean(text, _MESSAGE_MAX)


def _as_json(answer: ElectionAnswer, election: ElectionType, tally: ElectionCounts) -> dict[str, Any]:
    return {
        "type": election,
        "code": answer.code,
        "error": error_name(answer.code) if answer.code else None,
        "results": [
            {
                "topic": result.topic,
                "partition": result.partition,
                "code": result.code,
                "error": error_name(result.code) if result.code else None,
                "message": result.message,
            }
            for result in answer.results
        ],
        "tally": tally,
    }
