"""The plan of a reassignment: a file in the format of Kafka's own tool."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness.errors import UsageError

_FORM = '{"version": 1, "partitions": [{"topic": "log-0", "partition": 0, "replicas": [1, 2, 3]}]}'
_KNOWN = {"topic", "partition", "replicas", "log_dirs"}


class PlannedReassignment(NamedTuple):
    """An entry of a plan: a partition and its wanted replicas."""

    topic: str
    partition: int
    replicas: tuple[int, ...]


def read_plan(path: Path) -> tuple[PlannedReassignment, ...]:
    """Read all entries of a plan.

    Raises:
        UsageError: it is not such a file, or can't be read; the error reports all problems at once.
    """
    try:
        found = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise _wrong(path, [f"line {error.lineno}, column {error.colno}: {error.msg}"]) from error
    except OSError as error:
        raise _wrong(path, [error.strerror or str(error)]) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number that is too long, too deep
        raise _wrong(path, [f"not JSON: {error}"]) from error
    problems = list(_problems(found))
    if problems:
        raise _wrong(path, problems)
    return tuple(
        PlannedReassignment(one["topic"], one["partition"], tuple(one["replicas"]))
        for one in found["partitions"]
    )


def _wrong(path: Path, problems: list[str]) -> UsageError:
    return UsageError(
        "the file is not a reassignment plan",
        got="\n            ".join(problems),
        expected=_FORM,
        where=str(path),
        next_step="correct it as docs/reassignments.md says, or name another file",
    )


def _problems(found: object) -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"got {_kind(found)}, expected an object"
        return
    if found.get("version", 1) != 1:
        yield f"version: got {json.dumps(found['version'])[:40]}, expected 1"
    yield from (f"{name}: unknown field" for name in found if name not in ("version", "partitions"))
    partitions = found.get("partitions")
    if not isinstance(partitions, list) or not partitions:
        yield f"partitions: got {_kind(partitions)}, expected a list with at least one entry"
        return
    for index, one in enumerate(partitions):
        yield from _problems_of(f"partitions[{index}]", one)
    yield from _repeated(partitions)


def _problems_of(where: str, one: object) -> Iterator[str]:
    if not isinstance(one, dict):
        yield f"{where}: got {_kind(one)}, expected an object"
        return
    yield from (f"{where}.{name}: unknown field" for name in one if name not in _KNOWN)
    if not isinstance(one.get("topic"), str) or not one["topic"]:
        yield f"{where}.topic: got {_kind(one.get('topic'))}, expected a name"
    if not _is_number(one.get("partition")):
        yield f"{where}.partition: got {_kind(one.get('partition'))}, expected a whole number from 0"
    replicas = one.get("replicas")
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        yield f"{where}.replicas: got {_kind(replicas)}, expected a list of broker ids"
    elif len(set(replicas)) < len(replicas):
        yield f"{where}.replicas: got a broker twice in {json.dumps(replicas)}"
    if one.get("log_dirs") and json.dumps(one["log_dirs"]).replace('"any"', "").strip("[, ]"):
        yield f'{where}.log_dirs: which log directory can\'t be asked for here, expected "any"'


def _repeated(partitions: list[object]) -> Iterator[str]:
    places = Counter(
        (str(one.get("topic")), str(one.get("partition"))) for one in partitions if isinstance(one, dict)
    )
    yield from (f"{topic}/{number}: {n} times" for (topic, number), n in places.items() if n > 1)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _kind(value: object) -> str:
    """A short description of the value that was found."""
    return "nothing" if value is None else json.dumps(value)[:60]
