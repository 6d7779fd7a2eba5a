"""Errors of the pipeline, with the next step."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from results.store.runs import StoreError

_FULL = "No space left on device"
_CAUSES_MAX = 600


class PipelineError(StoreError):
    """Spark or the tables can't do what was requested; one fact per line."""

    def __init__(
        self, what: str, *, got: str = "", expected: str = "", where: str = "", next_step: str = ""
    ) -> None:
        facts = (("got", got), ("expected", expected), ("where", where), ("next", next_step))
        super().__init__("\n".join([what, *(f"  {name + ':':<10}{text}" for name, text in facts if text)]))


class NotTablesError(PipelineError):
    """The folder that was named for the tables holds something else."""


@contextmanager
def spark_errors_named(doing: str) -> Iterator[None]:
    """Convert exceptions of Spark in the block to an error that names what failed.

    Raises:
        OSError: a disk is full, for example that of Spark's scratch folder.
        PipelineError: any other exception.
    """
    # Imported late, so that a missing Java can be reported where Spark is missing, too.
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if _FULL in text:
            raise OSError(errno.ENOSPC, _FULL, "a folder of Spark or of the tables") from error
        raise PipelineError(
            f"Spark could not {doing}",
            got=_cause(text),
            next_step="--verbose shows the whole error",
        ) from error


def _cause(text: str) -> str:
    """The lines with the cause, without stack traces of Spark."""
    lines = [line.strip() for line in text.splitlines()]
    messages = [
        line for line in lines if line and not line.startswith(("at ", "File ", "...", "^", "Traceback"))
    ]
    causes = [line for line in messages if "Error" in line or "Exception" in line] or messages
    return " ".join(dict.fromkeys(causes[:1] + causes[-1:]))[:_CAUSES_MAX]
