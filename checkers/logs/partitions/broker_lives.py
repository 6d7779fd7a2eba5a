"""Whether a broker's process ran without a restart, and how long faults may have held it up.

After a restart a broker may know less than it did before.
"""

from collections.abc import Iterable

from checkers.evidence.faults import FaultWindow
from checkers.history.observed import NODE, nodes_seen
from checkers.licences.facts import Facts
from checkers.logs.partitions.brokers import BrokerAnswer

_SEEN_WITHIN_NS = 2_000_000_000
"""How late an observer may record that a process ended or started."""


def is_one_life(facts: Facts, before: BrokerAnswer, after: BrokerAnswer) -> bool:
    """Whether a broker's process certainly was the same when it gave two answers."""
    return one_life(facts, after.node, before.began_ns, after.time_ns)


def one_life(facts: Facts, node: str, from_ns: int, until_ns: int) -> bool:
    """Whether a broker's process certainly was not restarted between two times."""
    to_ns = until_ns + _SEEN_WITHIN_NS
    ended = (w for w in facts.windows if w.ends_processes and w.concerns(node))
    lives = (o for o in facts.history.observed(NODE) if o.node == node)
    return not (
        any(window.overlaps(from_ns, to_ns) for window in ended)
        or any(from_ns <= operation.time_ns <= to_ns for operation in lives)
    )


def one_process(facts: Facts, node: str, from_ns: int, until_ns: int) -> bool:
    """Whether a broker's process certainly was not restarted between two times, according to its container.

    Faults do not count here: pauses and failed disks do not end a process.  The end of a process is observed
    before the next process answers.
    """
    lives = [each for each in nodes_seen(facts.history, node) if each.operation.time_ns <= until_ns]
    before = [each.value for each in lives if each.operation.time_ns < from_ns][-1:]
    during = [each.value for each in lives if each.operation.time_ns >= from_ns]
    ended = any(each.exited for each in [*before, *during])
    begun = {each.started_at for each in [*before, *during]}
    return not ended and (not during or (len(begun) == 1 and None not in begun))


def same_process(facts: Facts, node: str, from_ns: int, until_ns: int) -> bool:
    """Whether neither a fault nor its container says that a broker's process ended between two times."""
    ended = (
        window.ends_processes and window.concerns(node) and window.overlaps(from_ns, until_ns)
        for window in facts.windows
    )
    return not any(ended) and one_process(facts, node, from_ns, until_ns)


def held_up_ns(windows: Iterable[FaultWindow], from_ns: int, to_ns: int) -> int:
    """How long some faults may have been in force between two times; simultaneous faults count separately."""
    spans = ((max(window.invoked_ns, from_ns), min(window.end_ns, to_ns)) for window in windows)
    return sum(max(0, end_ns - begin_ns) for begin_ns, end_ns in spans)
