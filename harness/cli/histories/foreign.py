"""``krucible check FILE``: judges a history of another harness, and prints the result."""

import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from checkers.foreign.edn import read_values
from checkers.foreign.files import open_source
from checkers.foreign.json_text import read_lines
from checkers.foreign.judging import JudgingOptions, UnfitError, judge_foreign
from checkers.foreign.records import foreign_of
from checkers.foreign.text_pieces import FilePlace, Pieces
from checkers.history.operations import History, OperationType
from checkers.history.reading import HistoryError, read_journals
from checkers.judge import judge
from checkers.transactional.transactions import draw_cycle
from checkers.verdict.verdict import Anomaly, CheckerResult, Verdict
from harness.campaigns.activity import Show, show_nothing
from harness.errors import UsageError
from results.markup.cleaning import clean

STDIN = "-"
"""The file name that stands for standard input."""

_HEADER_MAX = 1_000
_TEXT_MAX = 240
_LINES_MAX = 20
_PATH_MAX = 4_096
_SHOWN_MAX = 3
_OPTIONS = "krucible check --help"
_INITIAL = "--initial"


class JudgedFile(NamedTuple):
    """The result of judging a file.

    Attributes:
        file: its printable name.
        workload: the workload whose operations the file holds.
        model: the model that the operations were checked against; None if the workload implies it.
        operations: number of operations.
        succeeded: number of operations that ended with ok; None if they were not counted.
        lines: for each operation, its line in the file.
        outcomes: number of calls by function and outcome, as the file has them; None for a journal.
        processes: number of processes of clients; None for a journal.
        timed: whether every operation has a time.
        history: the operations, in krucible's format.
        verdict: the verdict.
    """

    file: str
    workload: str
    model: str | None
    operations: int
    succeeded: int | None
    lines: Sequence[int]
    outcomes: Mapping[str, Mapping[str, int]] | None
    processes: int | None
    timed: bool
    history: History
    verdict: Verdict


def judge_file(name: str, asked: JudgingOptions, show: Show = show_nothing) -> JudgedFile:
    """Read and judge a history of another harness, from a file or standard input.

    Args:
        name: the name of the file, or `STDIN`.
        asked: the options for judging, such as the model.
        show: receives the name of each step (reading, judging) when it begins.

    Raises:
        UsageError: the file holds no history that can be judged, or the options do not fit it.
    """
    file = "standard input" if name == STDIN else clean(name, _TEXT_MAX)
    show("reading")
    with _opened(name) as stream, _wrong_file_named():
        source = open_source(stream, file)
        foreign = foreign_of(source.elements, file, source.damage)
    show("judging")
    try:
        with _wrong_file_named():
            judgement = judge_foreign(foreign, asked)
    except UnfitError as error:
        raise UsageError(
            "workload, model and initial value do not fit",
            got=str(error),
            expected=error.expected,
            next_step=_OPTIONS,
        ) from error
    lines = [record.line for record in foreign.records]
    return JudgedFile(
        file=file,
        workload=judgement.workload,
        model=judgement.model,
        operations=len(foreign.calls),
        succeeded=foreign.succeeded,
        lines=lines,
        outcomes=foreign.outcomes,
        processes=foreign.processes,
        timed=foreign.timed,
        history=judgement.history,
        verdict=judgement.verdict,
    )


def is_journal(name: str) -> bool:
    """Whether a file is a journal that krucible wrote.

    Raises:
        UsageError: the file can't be opened.
    """
    with _open(name) as stream:
        return stream.readline(_HEADER_MAX).startswith(b'{"krucible_history":')


def judge_journal(path: Path, show: Show = show_nothing) -> JudgedFile:
    """Judge one journal of krucible without the other journals of its run. See `judge_file` for `show`.

    Raises:
        HistoryError: the journal can't be read.
    """
    show("reading")
    history = read_journals([path])
    show("judging")
    lines = range(2, len(history.operations) + 2)
    begun = sum(operation.type is OperationType.INVOKE for operation in history.operations)
    return JudgedFile(
        file=clean(str(path), _TEXT_MAX),
        workload="a journal of krucible's own",
        model=None,
        operations=begun,
        succeeded=None,
        lines=lines,
        outcomes=None,
        processes=None,
        timed=True,
        history=history,
        verdict=judge(history),
    )


@contextmanager
def _opened(name: str) -> Iterator[io.BufferedReader]:
    if name == STDIN:
        if sys.stdin is None:
            raise UsageError(
                "standard input is closed",
                expected="a history",
                where=STDIN,
                next_step="pipe a history into the command, or name a file",
            )
        yield io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
        return
    with _open(name) as stream:
        yield stream


def _open(name: str) -> io.BufferedReader:
    """Open a file that a user named.

    Raises:
        UsageError: the file can't be opened.
    """
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise UsageError(
            "this file can't be opened",
            got=error.strerror or str(error),
            expected="a file that you may read",
            where=clean(name, _TEXT_MAX),
            next_step="get permission to read it, or name another file",
        ) from error


@contextmanager
def _wrong_file_named() -> Iterator[None]:
    """Convert `HistoryError` to `UsageError`, because a file without a history is a mistake in the command.

    Only a damaged run of a store is a failure of the harness.
    """
    try:
        yield
    except HistoryError as error:
        raise UsageError(
            "this file can't be judged",
            got=error.problem,
            expected=error.expected,
            where=error.place,
            next_step=error.next_step,
        ) from error


def initial_of(text: str | None) -> Any:
    """Return a value that is written in JSON or EDN; None if no text was given.

    Raises:
        UsageError: the text is neither JSON nor EDN.
    """
    if text is None:
        return None
    try:
        (value,) = _values_of(text)
    except (HistoryError, ValueError) as error:
        raise UsageError(
            "the initial value can't be read",
            got=clean(repr(text), _TEXT_MAX),
            expected="one value, JSON or EDN",
            where=_INITIAL,
            next_step="quote it for the shell: --initial '[1 2]'",
        ) from error
    return value


def _values_of(text: str) -> list[Any]:
    """Return the values of a text in JSON or, if it is not JSON, in EDN."""
    damage: list[str] = []
    with suppress(HistoryError):
        values = [element.value for element in read_lines(Pieces(iter([text]), _INITIAL), damage)]
        if values and not damage:
            return values
    return read_values(text, FilePlace(_INITIAL, 1, 1), 0)


def verdict_as_json(judged: JudgedFile, page: Path | None = None) -> str:
    """Return the verdict and the anomalies as in ``verdict.json``, with stable ids, and what was judged.

    Args:
        judged: the result.
        page: where its page was written; None if there is none.
    """
    about = {"file": judged.file, "workload": judged.workload, "model": judged.model}
    if page is not None:
        about["report"] = str(page)
    return json.dumps({**about, **msgspec.to_builtins(judged.verdict, enc_hook=str)})


def judgement_text(judged: JudgedFile, page: Path | None = None) -> str:
    """Return the verdict, its reasons, and the proofs of the first anomalies, on at most a few screens.

    See `verdict_as_json` for `page`.
    """
    verdict = judged.verdict
    held_to = f", held to {judged.model}" if judged.model not in {None, judged.workload} else ""
    lines = [f"verdict    {verdict.validity.upper()}"]
    lines += _labelled("why", (clean(reason, _TEXT_MAX) for reason in verdict.reasons[:_LINES_MAX]))
    lines += _labelled("warning", (clean(text, _TEXT_MAX) for text in warnings_of(verdict)))
    lines += _labelled("anomalies", _counts(verdict))
    none_ok = ", none of which succeeded" if judged.succeeded == 0 else ""
    what = f"{judged.workload}{held_to}, {judged.operations:,} operations{none_ok}"
    lines.append(f"history    {judged.file}: {what}")
    lines += _labelled("report", iter([] if page is None else [clean(str(page), _PATH_MAX)]))
    for anomaly in _shown(verdict):
        lines += ["", *proof_of(judged, anomaly)]
    return "\n".join(lines)


def _labelled(label: str, texts: Iterator[str]) -> list[str]:
    return [f"{'' if position else label:<11}{text}" for position, text in enumerate(texts)]


def warnings_of(verdict: Verdict) -> Iterator[str]:
    """Yield the warnings about the file."""
    for result in verdict.results:
        yield from result.figures.get("warnings", ())


def _counts(verdict: Verdict) -> Iterator[str]:
    counts = {name: count for result in verdict.results for name, count in result.counts.items()}
    legal = {a.id for result in verdict.results for a in result.anomalies if not a.illegal}
    for name, count in counts.items():
        yield f"{count:,} {name}{' (legal)' if name in legal else ''}"
    if not counts:
        yield "none found"


def _shown(verdict: Verdict) -> Iterator[Anomaly]:
    """Yield the first illegal anomaly of each id."""
    seen: dict[str, Anomaly] = {}
    for result in verdict.results:
        for anomaly in result.anomalies:
            if anomaly.illegal:
                seen.setdefault(anomaly.id, anomaly)
    yield from list(seen.values())[:_SHOWN_MAX]


def proof_of(judged: JudgedFile, anomaly: Anomaly) -> list[str]:
    """Return the lines about an anomaly: its summary, its explanation, and the lines of its operations."""
    subject = f" ({clean(anomaly.subject, _TEXT_MAX)})" if anomaly.subject else ""
    lines = [f"{anomaly.id}{subject}", f"  {clean(anomaly.summary, _TEXT_MAX)}"]
    lines += [f"  {clean(text, _TEXT_MAX)}" for text in _ends_of(anomaly.explanation, _LINES_MAX)]
    lines.append(f"  guarantee: {anomaly.guarantee} ({anomaly.source})")
    if anomaly.witness:
        where = [str(judged.lines[index]) for index in anomaly.witness]
        lines.append(f"  lines:   {', '.join(_ends_of(where, _LINES_MAX))}")
    return lines


def _ends_of(texts: Sequence[str], limit: int) -> list[str]:
    """Return all texts, or the first and the last ones if there are more than the limit.

    The last texts are kept because the end of a proof is the most important part.
    """
    if len(texts) <= limit:
        return list(texts)
    half = limit // 2
    return [*texts[:half], f"… {len(texts) - 2 * half} more …", *texts[-half:]]


def save_proofs(folder: Path, judged: JudgedFile) -> int:
    """Write every listed anomaly as a text and every cycle as a drawing. Return the number of files.

    Raises:
        OSError: a file can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = [
        (f"{anomaly.id}-{number}.txt", "\n".join([*proof_of(judged, anomaly), ""]))
        for result in judged.verdict.results
        for number, anomaly in enumerate(result.anomalies, start=1)
    ]
    drawings = [drawing for result in judged.verdict.results for drawing in _drawings(result)]
    for name, text in [*texts, *drawings]:
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    return len(texts) + len(drawings)


def _drawings(result: CheckerResult) -> Iterator[tuple[str, str]]:
    for number, cycle in enumerate(result.figures.get("cycles", ()), start=1):
        yield f"cycle-{number}.svg", draw_cycle(cycle)
