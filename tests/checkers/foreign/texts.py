"""Histories in the notations of others, for tests."""

import io
import re
from typing import Any

from checkers.foreign.files import open_source
from checkers.foreign.judging import ForeignJudgement, JudgingOptions, judge_foreign
from checkers.foreign.records import Foreign, foreign_of

FILE = "history"


def stream_of(content: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(content))


def foreign(text: str | bytes) -> Foreign:
    """A history in any notation."""
    content = text if isinstance(text, bytes) else text.encode()
    source = open_source(stream_of(content), FILE)
    return foreign_of(source.elements, FILE, source.damage)


def edn_of(lines: str) -> str:
    """EDN of a history in short form: a process, a type, a function and a value a line.

    ``0 invoke read nil`` is process 0's; indices and times are their places.
    """
    return "\n".join(_edn_line(number, line) for number, line in enumerate(lines.strip().splitlines()))


def _edn_line(number: int, line: str) -> str:
    process, kind, f, value = line.split(maxsplit=3)
    who = f":{process}" if re.match(r"[a-z]", process) else process
    where = f":index {number}, :time {number * 1000}"
    return f"{{{where}, :process {who}, :type :{kind}, :f :{f}, :value {value}}}"


def judged(lines: str, **asked: Any) -> ForeignJudgement:
    """The judgement of a history in short form."""
    return judge_foreign(foreign(edn_of(lines)), JudgingOptions(**asked))


def counts(judgement: ForeignJudgement) -> dict[str, int]:
    """How many anomalies of each id."""
    return {name: count for result in judgement.verdict.results for name, count in result.counts.items()}
