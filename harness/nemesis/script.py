"""Carries out the moves of a script, one after the other, and records what it waited for."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from checkers.history.operations import OperationType
from harness.nemesis.background import Background
from harness.nemesis.conditions import judged
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.operator import Operator, Performed
from harness.nemesis.situation import Situation
from harness.record.journal import Recorder
from harness.record.tally import Tally
from harness.vocabulary.administration import Member
from harness.vocabulary.moves import Await, Configure, Heal, Inject, Move, Pass, Perform, ScriptedSchedule
from harness.vocabulary.topology import Node
from harness.workloads.worker import join_all

_LOOK_PAUSE_S = 0.1
_GRACE_S = 20.0
"""For what is in the background when the script has ended, beyond the time that its requests may take."""


class ScriptSurroundings(NamedTuple):
    """What a script plays in.

    Attributes:
        look: the cluster as it is now.
        tally: counts acknowledged records.
        configure: changes a node's properties for its next start.
        addresses: of the nodes, by name.
        least_hold_ms: how long each fault is in force at least; a move that ends it earlier waits.
    """

    look: Callable[[], Situation]
    tally: Tally
    configure: Callable[[Node, Mapping[str, str | None]], None]
    addresses: Mapping[str, str]
    least_hold_ms: int


class ScriptCourse:
    """A script under way.

    Args:
        nemesis: injects and heals.
        new_operator: makes operators, each a process of the history of its own.
        recorder: writes as the process ``moves``.
        surroundings: what it plays in.
        cancelled: set to end the script early.
    """

    def __init__(
        self,
        nemesis: Nemesis,
        new_operator: Callable[[], Operator],
        recorder: Recorder,
        surroundings: ScriptSurroundings,
        cancelled: threading.Event,
    ) -> None:
        self._nemesis = nemesis
        self._new_operator = new_operator
        self._recorder = recorder
        self._surroundings = surroundings
        self._cancelled = cancelled
        self._operator = new_operator()
        self._background: list[Background] = []

    def carry_out(self, schedule: ScriptedSchedule) -> None:
        """Make the moves; the first that does not come about ends the script, and the history says so.

        Raises:
            KrucibleError: the harness could not do its work.
        """
        planned = len(schedule.moves)
        made = 0
        try:
            for move in schedule.moves:
                if self._cancelled.is_set() or not self._made(move):
                    break
                made += 1
            with self._recorder.operation("moves", None, {"planned": planned}) as outcome:
                told = {"planned": planned, "made": made}
                if made == planned:
                    outcome.ok(told)
                else:
                    outcome.end(OperationType.INFO, told, f"ended after {made} of {planned} moves")
        finally:
            longest_s = max((worker.bound_s for worker in self._background), default=0.0)
            join_all(self._background, longest_s + _GRACE_S)

    def _made(self, move: Move) -> bool:
        match move:
            case Inject(name, fault):
                return self._nemesis.begin(name, fault, self._surroundings.least_hold_ms)
            case Heal(name):
                return self._nemesis.end(name)
            case Perform():
                return self._performed(move)
            case Await():
                return self._awaited(move)
            case Pass(ms):
                self._cancelled.wait(ms / 1000)
                return True
            case Configure(member, properties):
                return self._configured(member, properties)

    def _performed(self, move: Perform) -> bool:
        """Ask until the answer is one of those expected; in the background it is only begun."""
        if move.background:
            worker = Background(
                self._new_operator(), move.operation, move.timeout_ms, len(self._background) + 1
            )
            self._background.append(worker)
            worker.start()
            return True
        asked = msgspec.to_builtins(move)
        deadline = time.monotonic() + move.until_ms / 1000
        with self._recorder.operation("perform", asked["operation"]["kind"], asked) as outcome:
            while True:
                performed = self._operator.perform(move.operation, move.timeout_ms)
                met = _expected(performed, move.expect)
                if met or time.monotonic() >= deadline or self._cancelled.wait(_LOOK_PAUSE_S):
                    break
            kind = OperationType.OK if met else OperationType.INFO
            outcome.end(kind, asked | {"codes": performed.codes}, performed.error)
        return met

    def _configured(self, member: Member, properties: Mapping[str, str | None]) -> bool:
        node = self._surroundings.look().node(member)
        meant = {
            name: _with_addresses(text, self._surroundings.addresses) for name, text in properties.items()
        }
        value = {"properties": meant}
        with self._recorder.operation("configure", node.name, value, node=node.name) as outcome:
            self._surroundings.configure(node, meant)
            outcome.ok(value)
        return True

    def _awaited(self, move: Await) -> bool:
        asked = msgspec.to_builtins(move)
        deadline = time.monotonic() + move.within_ms / 1000
        before = self._surroundings.tally.acked
        with self._recorder.operation("await", asked["condition"]["kind"], asked) as outcome:
            while True:
                seen = judged(
                    move.condition, self._surroundings.look(), self._surroundings.tally.acked - before
                )
                if seen.holds or time.monotonic() >= deadline or self._cancelled.wait(_LOOK_PAUSE_S):
                    break
            kind = OperationType.OK if seen.holds else OperationType.INFO
            outcome.end(kind, asked | {"saw": seen.saw}, None if seen.holds else "it did not come about")
        return seen.holds


def _with_addresses(text: str | None, addresses: Mapping[str, str]) -> str | None:
    return None if text is None else text.format_map(addresses)


def _expected(performed: Performed, expect: tuple[int, ...]) -> bool:
    """Whether there was an answer, and every code in it is one of those expected, where any are."""
    return bool(performed.codes) and (not expect or set(performed.codes) <= set(expect))
