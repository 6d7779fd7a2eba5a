"""Carries out the moves of a script one after the other, and records the conditions that it waited for."""

import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import asdict

from checkers.history.courses import (
    MOVES,
    PERFORM,
    ConditionAwaited,
    OperationPerformed,
    OperationRequested,
    ScriptEnded,
    ScriptPlanned,
)
from checkers.history.operations import OperationType
from checkers.history.requested import NodeConfigured
from harness.nemesis.background import Background
from harness.nemesis.conditions import ConditionState, state_of_condition
from harness.nemesis.course import CourseContext
from harness.nemesis.operator import Performed
from harness.vocabulary.administration import Member
from harness.vocabulary.moves import Await, Configure, Heal, Inject, Move, Pass, Perform, ScriptedSchedule
from harness.vocabulary.topology import Node
from harness.workloads.worker import join_all

_LOOK_PAUSE_S = 0.1
_GRACE_S = 20.0
"""Extra time for operations in the background after the end of the script, beyond their timeouts."""


class ScriptCourse:
    """A script in progress.

    Args:
        context: the objects that its moves need; writes as the process ``moves``.
        configure: changes a node's properties for its next start.
        addresses: addresses of the nodes, by name.
        least_hold_ms: how long each fault is in force at least; a move that ends it earlier waits.
    """

    def __init__(
        self,
        context: CourseContext,
        configure: Callable[[Node, Mapping[str, str | None]], None],
        addresses: Mapping[str, str],
        least_hold_ms: int,
    ) -> None:
        self._context = context
        self._configure = configure
        self._addresses = addresses
        self._least_hold_ms = least_hold_ms
        self._operator = context.new_operator()
        self._background: list[Background] = []

    def carry_out(self, schedule: ScriptedSchedule) -> None:
        """Make the moves; the first failure is recorded and ends the script.

        Raises:
            KrucibleError: the harness could not do its work.
        """
        planned = len(schedule.moves)
        made = 0
        try:
            for move in schedule.moves:
                if self._context.cancelled.is_set() or not self._made(move):
                    break
                made += 1
            with self._context.recorder.operation(MOVES, None, ScriptPlanned(planned)) as outcome:
                value = ScriptEnded(planned, made)
                if made == planned:
                    outcome.ok(value)
                else:
                    outcome.end(OperationType.INFO, value, f"ended after {made} of {planned} moves")
        finally:
            longest_s = max((worker.bound_s for worker in self._background), default=0.0)
            join_all(self._background, longest_s + _GRACE_S)

    def _made(self, move: Move) -> bool:
        match move:
            case Inject(name, fault):
                return self._context.nemesis.begin(name, fault, self._least_hold_ms)
            case Heal(name):
                return self._context.nemesis.end(name)
            case Perform():
                return self._performed(move)
            case Await():
                return self._awaited(move)
            case Pass(ms):
                self._context.cancelled.wait(ms / 1000)
                return True
            case Configure(member, properties):
                return self._configured(member, properties)

    def _performed(self, move: Perform) -> bool:
        """Repeat the request until an expected answer is returned; in the background it is only begun."""
        if move.background:
            worker = Background(
                self._context.new_operator(), move.operation, move.timeout_ms, len(self._background) + 1
            )
            self._background.append(worker)
            worker.start()
            return True
        asked = msgspec.convert(msgspec.to_builtins(move), OperationRequested)
        deadline = time.monotonic() + move.until_ms / 1000
        with self._context.recorder.operation(PERFORM, str(asked.operation["kind"]), asked) as outcome:
            while True:
                performed = self._operator.perform(move.operation, move.timeout_ms)
                met = _expected(performed, move.expect)
                if met or time.monotonic() >= deadline or self._context.cancelled.wait(_LOOK_PAUSE_S):
                    break
            kind = OperationType.OK if met else OperationType.INFO
            outcome.end(kind, OperationPerformed(**asdict(asked), codes=performed.codes), performed.error)
        return met

    def _configured(self, member: Member, properties: Mapping[str, str | None]) -> bool:
        node = self._context.look().node(member)
        meant = {name: _with_addresses(text, self._addresses) for name, text in properties.items()}
        value = NodeConfigured(meant)
        with self._context.recorder.operation("configure", node.name, value, node=node.name) as outcome:
            self._configure(node, meant)
            outcome.ok(value)
        return True

    def _awaited(self, move: Await) -> bool:
        asked = msgspec.convert(msgspec.to_builtins(move), ConditionAwaited)
        tally, before = self._context.tally, self._context.tally.acked

        def seen() -> ConditionState:
            return state_of_condition(move.condition, self._context.look(), tally.acked - before)

        return self._context.await_recorded(str(asked.condition["kind"]), asked, seen, _LOOK_PAUSE_S).holds


def _with_addresses(text: str | None, addresses: Mapping[str, str]) -> str | None:
    return None if text is None else text.format_map(addresses)


def _expected(performed: Performed, expect: tuple[int, ...]) -> bool:
    """Whether there was an answer with only expected codes; if none are expected, any code is allowed."""
    return bool(performed.codes) and (not expect or set(performed.codes) <= set(expect))
