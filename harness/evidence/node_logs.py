"""Evidence from logs: saves every node's log, and records the lines that matter."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from checkers.history.logged import (
    CLEANED,
    ELECTED,
    EPOCH_BEGUN,
    ISR_SHRUNK,
    LOADED,
    LOG_LACKING,
    NODE_LOG,
    TRUNCATED,
    VOTE,
    ElectedLogged,
    FindingLogged,
    IsrShrunk,
    LogLacking,
    LogLoaded,
    LogsCleaned,
    LogTruncated,
)
from harness.cluster.containers import NodeContainers
from harness.cluster.logs import in_a_line, save_logs
from harness.evidence.cleanings import begins, cleanings
from harness.evidence.epochs_begun import begun_epochs
from harness.evidence.log_ends import log_ends
from harness.evidence.votes import votes
from harness.record.journal import Recorder

LINES_MAX = 500
TEXT_CHARACTERS_MAX = 2_000
_LINE = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT\S+) (?P<level>[A-Z]+)\s")
_EXCEPTION = re.compile(r"[\w.$]+(?:Exception|Error|Throwable)\b")
"""How Java begins to print an exception, below the line that logs it."""
_TELLING = re.compile(
    r"uncaught exception|uncaughtException|Exception in thread|thread.{0,40} died", re.IGNORECASE
)

_DROPPED = "its log does not begin with what Kafka logs first: the engine dropped its oldest lines"

_ENDS = {LogLoaded: LOADED, IsrShrunk: ISR_SHRUNK, LogTruncated: TRUNCATED}
"""Keys of observations about the ends of logs."""


def gather_logs(containers: Mapping[str, NodeContainers], folder: Path, recorder: Recorder) -> None:
    """Save every node's log, and record its errors, votes, ends of logs, begun epochs and cleanings.

    All cleanings of disks that were read before this call are recorded here.  For a node whose log lacks its
    beginning, no cleanings are recorded, because some may be unknown.  A log that can't be fetched is
    recorded as missing.
    """
    began_ns = recorder.journal.clock.now_ns()
    saved = save_logs(containers, folder)
    for name, error in saved.refused.items():
        lacking = LogLacking("all", f"its log could not be fetched: {in_a_line(error)}")
        recorder.observe("observe", LOG_LACKING, lacking, node=name)
    for name, log in saved.texts.items():
        text = log.decode(errors="replace")
        for finding in findings(text):
            recorder.observe("observe", NODE_LOG, finding, node=name)
        for entry in votes(text):
            key = ELECTED if isinstance(entry, ElectedLogged) else VOTE
            recorder.observe("observe", key, entry, node=name)
        for end in log_ends(text):
            recorder.observe("observe", _ENDS[type(end)], end, node=name)
        for begun in begun_epochs(text):
            recorder.observe("observe", EPOCH_BEGUN, begun, node=name)
        if begins(text):
            recorder.observe("observe", CLEANED, LogsCleaned(began_ns, tuple(cleanings(text))), node=name)
        else:
            recorder.observe("observe", LOG_LACKING, LogLacking("beginning", _DROPPED), node=name)


def findings(log: str) -> Iterator[FindingLogged]:
    """Lines of level ERROR or FATAL and those that report a dead thread, the first `LINES_MAX`.

    What goes beyond is counted in a last finding without a line.
    """
    found = 0
    level, at = "INFO", None
    for number, (line, following) in enumerate(pairwise((*log.splitlines(), "")), start=1):
        head = _LINE.match(line)
        level, at = (head["level"], head["at"]) if head else (level, at)
        stands_out = (head is not None and level in ("ERROR", "FATAL")) or _TELLING.search(line)
        if not stands_out:
            continue
        found += 1
        if found <= LINES_MAX:
            text = f"{line}\n{following}" if _EXCEPTION.match(following) else line
            yield FindingLogged(number, at, level, text[:TEXT_CHARACTERS_MAX])
    if found > LINES_MAX:
        yield FindingLogged(None, None, "ERROR", f"{found - LINES_MAX} further lines")
