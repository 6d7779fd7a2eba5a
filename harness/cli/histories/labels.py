"""``krucible check DIR --labels FILE``: compares verdicts with labels of the same histories."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.table import Table
from rich.text import Text

from checkers.foreign.judging import JudgingOptions
from checkers.verdict.verdict import Validity
from harness.cli.histories.foreign import judge_file
from harness.errors import KrucibleError, UsageError
from results.markup.cleaning import clean

_TEXT_MAX = 240


class VerdictLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The expected verdict of a history, as its publishers labelled it.

    Attributes:
        workload: the workload of the history; inferred if absent.
        model: the model that the history was checked against.
        initial: the object's initial value.
        linearizable: the verdict of the publishers; None if there is none.
        valid: the same, for models other than linearizability.
        note: further remarks.
    """

    workload: str | None = None
    model: str | None = None
    initial: Any = None
    linearizable: bool | None = None
    valid: bool | None = None
    note: str = ""

    @property
    def expected(self) -> Validity | None:
        """The label's verdict in krucible's terms."""
        labelled = self.valid if self.linearizable is None else self.linearizable
        return None if labelled is None else Validity.VALID if labelled else Validity.INVALID


class Compared(NamedTuple):
    """The row of one history.

    Attributes:
        file: its name in the folder.
        model: the model that it was checked against.
        expected: the label's verdict; None if it has none.
        found: krucible's verdict; None if the history could not be read.
        anomalies: number of anomalies by id.
        took_ms: time to read and judge it.
        problem: why it could not be read.
    """

    file: str
    model: str
    expected: Validity | None
    found: Validity | None
    anomalies: dict[str, int]
    took_ms: float
    problem: str | None

    @property
    def agrees(self) -> bool | None:
        """Whether both verdicts are equal; None without a label. An unreadable history never agrees."""
        if self.found is None:
            return False
        return None if self.expected is None else self.found is self.expected


def load_labels(path: Path) -> dict[str, VerdictLabel]:
    """Read the labels: a JSON object with a `VerdictLabel` for each file.

    Raises:
        UsageError: the file has another form.
    """
    try:
        labels = msgspec.json.decode(path.read_bytes(), type=dict[str, VerdictLabel])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        got = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            "the labels can't be read",
            got=got or type(error).__name__,
            expected="an object as in docs/foreign.md",
            where=str(path),
            next_step="write it as docs/foreign.md says, or name another file",
        ) from error
    if not labels:
        raise UsageError(
            "this file has no labels", expected="at least one", where=str(path), next_step="name another file"
        )
    return labels


def compare(folder: Path, labels: dict[str, VerdictLabel]) -> Iterator[Compared]:
    """Judge every labelled file of a folder."""
    for file, label in labels.items():
        began = time.perf_counter()
        asked = JudgingOptions(label.workload, label.model, label.initial)
        model, found, anomalies, problem = label.model or label.workload or "", None, {}, None
        try:
            judged = judge_file(str(folder / file), asked)
        except (KrucibleError, OSError) as error:
            problem = "; ".join(" ".join(line.split()) for line in str(error).splitlines())
        else:
            found = judged.verdict.validity
            model = judged.model or judged.workload
            anomalies = {n: c for result in judged.verdict.results for n, c in result.counts.items()}
        took_ms = (time.perf_counter() - began) * 1000
        yield Compared(file, model, label.expected, found, anomalies, took_ms, problem)


def table_of(rows: list[Compared]) -> Table:
    """The comparison as a table, for people."""
    table = Table("file", "model", "expected", "found", "agrees", "ms")
    for column in table.columns:
        column.overflow = "fold"
    table.columns[-1].justify = "right"
    words = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("no label", "dim")}
    for row in rows:
        found = str(row.found) if row.found else clean(row.problem or "", _TEXT_MAX)
        if row.found is Validity.INVALID:
            found += f" ({', '.join(row.anomalies)})"
        cells = (clean(row.file, _TEXT_MAX), row.model, str(row.expected or ""), found)
        table.add_row(*map(Text, cells), Text(*words[row.agrees]), f"{row.took_ms:.1f}")
    return table


def summary_of(rows: list[Compared]) -> str:
    """The comparison in one line."""
    judged = [row.agrees for row in rows]
    labelled = [agrees for agrees in judged if agrees is not None]
    seconds = sum(row.took_ms for row in rows) / 1000
    rest = f"; {judged.count(None)} have no label" if None in judged else ""
    return f"{labelled.count(True)} of {len(labelled)} agree{rest}; {seconds:.2f} s"


def comparison_as_json(rows: list[Compared]) -> str:
    """The comparison as JSON, for programs."""
    judged = [row.agrees for row in rows]
    return json.dumps(
        {
            "agree": judged.count(True),
            "disagree": judged.count(False),
            "without_label": judged.count(None),
            "took_ms": round(sum(row.took_ms for row in rows), 3),
            "files": [
                {**row._asdict(), "took_ms": round(row.took_ms, 3), "agrees": row.agrees} for row in rows
            ],
        }
    )
