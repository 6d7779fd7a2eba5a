"""Whether the quorum was observed often enough to detect a zombie leader or an absent controller."""

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from checkers.evidence.faults import FaultWindow
from checkers.evidence.processes import Span, gone, not_running
from checkers.history.operations import History
from checkers.history.quorum import QUORUM, QUORUM_STATE, quorum_seen
from checkers.history.setup import Setup
from checkers.history.units import NS_PER_MS
from checkers.verdict.verdict import Assumption


class _Silence(NamedTuple):
    """A period in which a controller did not answer."""

    length_ns: int
    node: str


def watched(
    history: History, setup: Setup, windows: Sequence[FaultWindow], bound_ms: float
) -> tuple[Assumption, Assumption]:
    """Test that each controller answered after all faults, and was never silent for too long before that.

    Errors and timeouts are no answers.  Silence is excused while the node was paused, down or without a disk,
    or while its process had ended by itself.  It is also excused from then until the node's next answer,
    because a node that starts can't answer without a majority.  A node without a process at the end need not
    answer.

    Args:
        history: the history of the run.
        setup: which nodes are controllers; a controller without observations counts as silent.
        windows: the run's faults.
        bound_ms: the longest silence in which no zombie leader can be missed, milliseconds.
    """
    answers, looks = _answers_of(history, setup)
    away = _away(answers, windows, gone(history))
    ended = not_running(history)
    longest = max(
        (
            silence
            for node, times in answers.items()
            for silence in _silences(node, times, looks, [*_silenced(node, windows), *ended.get(node, ())])
        ),
        default=None,
    )
    return (
        Assumption(
            "controllers-answered",
            not away,
            "an answer of each controller after the last heal",
            f"without an answer: {', '.join(away)}" if away else "all answered",
        ),
        Assumption(
            "controllers-watched",
            longest is None or longest.length_ns <= bound_ms * NS_PER_MS,
            f"no running controller leaves requests unanswered for more than {bound_ms:.0f} ms",
            "no silence" if longest is None else f"{longest.length_ns // NS_PER_MS} ms of {longest.node}",
        ),
    )


def _answers_of(history: History, setup: Setup) -> tuple[dict[str, list[int]], list[int]]:
    """When each controller answered, and when the quorum was observed at all."""
    answers: dict[str, list[int]] = {n.name: [] for n in setup.nodes if "controller" in n.roles}
    looks: list[int] = []
    for operation in history.of("observe"):
        if operation.key in {QUORUM, QUORUM_STATE}:
            looks.append(operation.time_ns)
            if operation.key == QUORUM and quorum_seen(operation.value).answer != "error":
                answers.setdefault(operation.node or "", []).append(operation.time_ns)
    return answers, looks


def _away(
    answers: Mapping[str, Sequence[int]], windows: Sequence[FaultWindow], without_process: Container[str]
) -> list[str]:
    """The controllers that did not answer after the last fault was healed, though their processes run."""
    over_ns = max((w.healed_ns for w in windows if w.healed_ns is not None), default=0)
    return [
        node
        for node, times in answers.items()
        if node not in without_process and (not times or times[-1] < over_ns)
    ]


def _silenced(node: str, windows: Sequence[FaultWindow]) -> Iterable[Span]:
    """The times when faults kept a node from answering."""
    for window in windows:
        if (window.silences or window.ends_processes) and window.concerns(node):
            yield window.invoked_ns, window.end_ns


def _silences(
    node: str, answered: Sequence[int], looks: Sequence[int], silent: Sequence[Span]
) -> Iterable[_Silence]:
    """Times between answers, including the first and last observation, when the node could have answered."""
    for before, after in pairwise([*looks[:1], *answered, *looks[-1:]]):
        if not any(from_ns <= after and before <= to_ns for from_ns, to_ns in silent):
            yield _Silence(after - before, node)
