"""Evidence from logs: saves every node's log, and records the lines that matter."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from checkers.evidence.node_logs import SKIPPED, is_judged
from checkers.history.logged import (
    CLEANED,
    ELECTED,
    EPOCH_BEGUN,
    INSTANCE_REFUSED,
    ISR_SHRUNK,
    LOADED,
    LOG_CUT,
    LOG_LACKING,
    METADATA_TRUNCATED,
    NODE_LOG,
    QUORUM_VIEW,
    TRUNCATED,
    VOTE,
    ElectedLogged,
    EpochBegun,
    FindingLogged,
    InstanceRefused,
    IsrShrunk,
    LogCut,
    LogLacking,
    LogLoaded,
    LogsCleaned,
    LogTruncated,
    MetadataTruncated,
    QuorumViewLogged,
)
from harness.cluster.containers import NodeContainers
from harness.cluster.logs import in_a_line, save_logs
from harness.evidence.cleanings import begins, cleanings
from harness.evidence.epochs_begun import begun_epochs
from harness.evidence.instances_refused import instances_refused
from harness.evidence.log_ends import log_ends
from harness.evidence.quorum_views import quorum_views
from harness.evidence.votes import votes
from harness.record.journal import Recorder

SHOWN_MAX = 500
"""Maximum number of lines of one node that a history has only for people, and that no rule reads."""
ENTRIES_MAX = 50_000
"""Maximum number of entries of each kind from one node's log in a history, and of errors that rules read.

For 50,000 leader epochs the node's log has 17 MB, the journal 13 MB, and reading the history takes 55 MB of
memory.  For 50,000 refusals these are 17 MB, 26 MB and 68 MB.
"""
TEXT_CHARACTERS_MAX = 2_000
_LINE = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT\S+) (?P<level>[A-Z]+)\s")
_EXCEPTION = re.compile(r"[\w.$]+(?:Exception|Error|Throwable)\b")
"""The first line of an exception that Java prints, below the line that logs it."""
_UNCAUGHT = re.compile(
    r"uncaught exception|uncaughtException|Exception in thread|thread.{0,40} died", re.IGNORECASE
)

_DROPPED = "its log does not begin with what Kafka logs first: the engine dropped its oldest lines"

_KEYS = {
    LogLoaded: LOADED,
    IsrShrunk: ISR_SHRUNK,
    LogTruncated: TRUNCATED,
    LogCut: LOG_CUT,
    EpochBegun: EPOCH_BEGUN,
    QuorumViewLogged: QUORUM_VIEW,
    MetadataTruncated: METADATA_TRUNCATED,
    InstanceRefused: INSTANCE_REFUSED,
}
"""Keys of entries about the ends of logs, leader epochs, voters, and refused members."""
_Entry = (
    LogLoaded
    | IsrShrunk
    | LogTruncated
    | LogCut
    | EpochBegun
    | QuorumViewLogged
    | MetadataTruncated
    | InstanceRefused
)


def gather_logs(containers: Mapping[str, NodeContainers], folder: Path, recorder: Recorder) -> None:
    """Save every node's log, and record its votes, voters, ends of logs, begun epochs, cleanings and errors.

    Logs on disks that were read before this call were only cleaned by cleanings that are recorded here.  If
    the beginning of a node's log is missing, no cleanings are recorded for it, because some may be unknown.
    A log that can't be fetched is recorded as missing, and so are entries beyond `ENTRIES_MAX`.
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
        _record(recorder, name, log_ends(text))
        _record(recorder, name, begun_epochs(text))
        _record(recorder, name, quorum_views(text))
        _record(recorder, name, instances_refused(text))
        if begins(text):
            recorder.observe("observe", CLEANED, LogsCleaned(began_ns, tuple(cleanings(text))), node=name)
        else:
            recorder.observe("observe", LOG_LACKING, LogLacking("beginning", _DROPPED), node=name)


def _record(recorder: Recorder, node: str, entries: Iterable[_Entry]) -> None:
    """Record the first `ENTRIES_MAX` entries of each kind, and whether further ones are missing."""
    found = Counter[str]()
    for entry in entries:
        key = _KEYS[type(entry)]
        found[key] += 1
        if found[key] <= ENTRIES_MAX:
            recorder.observe("observe", key, entry, node=node)
    for key, number in found.items():
        if number > ENTRIES_MAX:
            lacking = LogLacking(key, f"only the first {ENTRIES_MAX:,} of {number:,} entries are recorded")
            recorder.observe("observe", LOG_LACKING, lacking, node=node)


def findings(log: str) -> Iterator[FindingLogged]:
    """Lines of level ERROR or FATAL, and those that report a dead thread or a skipped marker.

    Of those that a rule reads the first `ENTRIES_MAX`, of the others the first `SHOWN_MAX`.  What goes beyond
    is counted in a last finding without a line.
    """
    found: dict[bool, int] = {True: 0, False: 0}
    most = {True: ENTRIES_MAX, False: SHOWN_MAX}
    for finding in _standing_out(log):
        judged = is_judged(finding.level, finding.text)
        found[judged] += 1
        if found[judged] <= most[judged]:
            yield finding
    further = {judged: max(0, number - most[judged]) for judged, number in found.items()}
    if any(further.values()):
        text = f"{sum(further.values())} further lines"
        yield FindingLogged(None, None, "ERROR", text, unjudged=not further[True])


def _standing_out(log: str) -> Iterator[FindingLogged]:
    level, at = "INFO", None
    for number, (line, following) in enumerate(pairwise((*log.splitlines(), "")), start=1):
        head = _LINE.match(line)
        level, at = (head["level"], head["at"]) if head else (level, at)
        severe = head is not None and level in ("ERROR", "FATAL")
        if not (severe or SKIPPED in line or _UNCAUGHT.search(line)):
            continue
        text = f"{line}\n{following}" if _EXCEPTION.match(following) else line
        yield FindingLogged(number, at, level, text[:TEXT_CHARACTERS_MAX])
