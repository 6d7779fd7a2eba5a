"""Plays gambits: chooses nodes, injects faults, waits, heals, and records all of it.

A gambit whose condition is not reached ends there, and its faults are healed. The
history records this, and it does not make a run unknown.
"""

import msgspec

from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.history.courses import CHOOSE, ChoiceMade, ChoiceRequested, ConditionAwaited, Planned
from checkers.history.faults import GambitBegan, GambitEnded
from checkers.history.operations import OperationType
from harness.kafka.answers import Place
from harness.nemesis.background import Background
from harness.nemesis.choosing import (
    Chosen,
    chosen_now,
    coordinating,
    fault_at,
    resolved,
    state_of_gambit_condition,
    still_leads,
)
from harness.nemesis.conditions import ConditionState
from harness.nemesis.course import CourseContext
from harness.nemesis.operator import Operator
from harness.record.static_members import Away
from harness.vocabulary.administration import AdminOperation
from harness.vocabulary.gambits import (
    Choice,
    ChooseCoordinator,
    ChooseNewcomers,
    ChoosePartition,
    ChooseQuorum,
    ChooseSuccessor,
    DeleteFromChosen,
    Gambit,
    GambitMove,
    Given,
    HealAll,
    InjectAll,
    MemberAway,
    RecordsDeleted,
    Request,
    RequestForChosen,
    StillAway,
    TopicsRemoved,
    Until,
    WaitAtMost,
)
from harness.vocabulary.moves import Acknowledged, Pass
from harness.workloads.deleting import Deletions, OneDeletion
from harness.workloads.worker import join_all

_LOOK_PAUSE_S = 0.05
_ASK_TIMEOUT_MS = 5_000
_AT_ONCE_MAX = 2
_GRACE_S = 20.0


class GambitCourse:
    """Plays gambits, one after the other.

    Args:
        context: the objects that their moves need; writes as the process ``gambits``.
        deletions: makes the deletions of records that gambits request.
    """

    def __init__(self, context: CourseContext, deletions: Deletions) -> None:
        self._context = context
        self._deletions = deletions
        self._operators: list[Operator] = []
        self._asking: list[Background] = []
        self._deleting: list[OneDeletion] = []

    def carry_out(self, name: str, gambit: Gambit, until_ns: int) -> None:
        """Make the moves of a gambit; the first move that fails ends it.

        Args:
            name: name of the gambit in the history.
            gambit: the gambit.
            until_ns: the schedule's end, in the time of the run; no gambit begins after it.

        Raises:
            KrucibleError: the harness could not do its work.
        """
        played = _Played(name, gambit)
        late = self._context.recorder.journal.clock.now_ns() >= until_ns
        why = "the schedule is over" if late else self._moved(played)
        if not self._context.cancelled.is_set():
            self._context.nemesis.heal_in_parallel(played.faults)
        value = GambitEnded(gambit.kind, len(gambit.moves), played.made, tuple(played.faults))
        with self._context.recorder.operation("gambit", name, GambitBegan(gambit.kind)) as outcome:
            ended = OperationType.FAIL if late else OperationType.INFO if why else OperationType.OK
            outcome.end(ended, value, why)

    def end(self) -> None:
        """Wait for the answers of all requests.

        Raises:
            KrucibleError: a request failed unexpectedly.
        """
        join_all(self._asking, max((worker.bound_s for worker in self._asking), default=0.0) + _GRACE_S)
        join_all(self._deleting, OneDeletion.bound_s + _GRACE_S)

    def _moved(self, played: "_Played") -> str | None:
        """Make the moves; returns the reason why one failed, or None if all succeeded."""
        for move in played.gambit.moves:
            if self._context.cancelled.is_set():
                return "the run was cancelled"
            try:
                why = self._made(move, played)
            except LookupError as error:
                why = str(error.args[0])
            if why is not None:
                return f"move {played.made + 1}, {_kind(move)}: {why}"
            played.made += 1
        return None

    def _made(self, move: GambitMove, played: "_Played") -> str | None:
        """Make a move; returns the reason why it failed, or None if it succeeded."""
        match move:
            case (
                ChoosePartition()
                | ChooseCoordinator()
                | ChooseQuorum()
                | ChooseSuccessor()
                | ChooseNewcomers()
                | Given()
            ):
                return self._chosen(move, played)
            case InjectAll():
                return self._injected(move, played)
            case HealAll(names, apart_ms):
                ended = self._context.nemesis.heal_in_parallel(
                    [f"{played.name}{name}" for name in names], apart_ms
                )
                return None if ended else "not all of them were seen to have ended"
            case Until():
                return self._awaited(move, played)
            case DeleteFromChosen(share):
                return self._delete(share, played.chosen.where)
            case WaitAtMost():
                self._awaited(move, played)
            case Pass(ms):
                self._context.cancelled.wait(ms / 1000)
            case Request() | RequestForChosen():
                self._ask(move, played)
        return None

    def _ask(self, move: Request | RequestForChosen, played: "_Played") -> None:
        match move:
            case Request(operation):
                asked: AdminOperation = operation
            case RequestForChosen(what):
                asked = resolved(what, played.chosen, self._context.look().nodes)
        worker = Background(self._operator(), asked, _ASK_TIMEOUT_MS, len(self._asking) + 1)
        self._asking.append(worker)
        worker.start()
        worker.join(worker.bound_s if move.answered else 0.0)

    def _delete(self, share: float, where: tuple[str, int] | None) -> str | None:
        """Begin a deletion, after earlier ones have ended; returns the reason why none was begun, or None."""
        if where is None:
            return "no partition was chosen"
        join_all(self._deleting, OneDeletion.bound_s + _GRACE_S)
        self._deleting = [self._deletions.one(where, share)]
        self._deleting[0].start()
        return None

    def _injected(self, move: InjectAll, played: "_Played") -> str | None:
        nodes = self._context.look().nodes
        faults = {
            f"{played.name}{aimed.name}": fault_at(aimed, played.chosen, nodes) for aimed in move.faults
        }
        played.faults += faults
        return (
            None
            if self._context.nemesis.inject_in_parallel(played.name, faults, move.apart_ms)
            else "not proven"
        )

    def _chosen(self, move: Choice, played: "_Played") -> str | None:
        topic = _topic_of(move, played.chosen)
        asked = ChoiceRequested(msgspec.to_builtins(move))
        with self._context.recorder.operation(CHOOSE, played.name, asked) as outcome:
            found: list[Chosen] = []

            def look() -> ConditionState:
                groups = self._context.tally.members.groups
                found[:] = filter(None, [chosen_now(move, self._context.look(topic), played.chosen, groups)])
                return ConditionState(bool(found), None)

            self._context.wait_until(look, move.within_ms, _LOOK_PAUSE_S)
            if not found:
                outcome.end(OperationType.INFO, asked, "nothing fits")
                return "nothing fits"
            played.chosen = played.chosen.merged_with(found[0])
            parts = {part: node.name for part, node in found[0].parts.items()}
            again = isinstance(move, Given)
            as_then = still_leads(found[0], self._context.look(topic)) if again else msgspec.UNSET
            outcome.ok(ChoiceMade(asked.choice, parts=parts, where=found[0].where, as_then=as_then))
        return None

    def _awaited(self, move: Until | WaitAtMost, played: "_Played") -> str | None:
        tally = self._context.tally
        acked, removed = tally.acked, tally.removed
        asked = ConditionAwaited(condition=msgspec.to_builtins(move.condition), within_ms=move.within_ms)
        where = played.chosen.where
        deleted = tally.deleted(where)
        left = tally.members.away()

        def look() -> ConditionState:
            match move.condition:
                case Acknowledged(count):
                    return _counted(tally.acked - acked, count)
                case TopicsRemoved(count):
                    return _counted(tally.removed - removed, count)
                case RecordsDeleted():
                    return _counted(tally.deleted(where) - deleted, 1)
                case MemberAway():
                    played.away = self._away(where, left)
                    return _members(played.away)
                case StillAway():
                    now = tally.members.away().items()
                    return _members(dict(now & played.away.items()))
                case condition:
                    return state_of_gambit_condition(
                        condition, played.chosen, self._context.look(where and where[0])
                    )

        seen = self._context.await_recorded(played.name, asked, look, _LOOK_PAUSE_S)
        return None if seen.holds else f"{_kind(move.condition)} was not reached"

    def _away(self, where: Place | None, before: Away) -> Away:
        """Static members that left since then and are away, of groups whose coordinator leads a partition."""
        # Also looked at if nobody is away: it raises if the load has died.
        snapshot = self._context.look(OFFSETS_TOPIC)
        found = dict(self._context.tally.members.away().items() - before.items())
        return {
            member: leaves for member, leaves in found.items() if coordinating(member[0], snapshot) == where
        }

    def _operator(self) -> Operator:
        """A free operator; if all are busy, wait for the one with the oldest request."""
        if len(self._operators) < _AT_ONCE_MAX:
            self._operators.append(self._context.new_operator())
            return self._operators[-1]
        longest_ago = self._asking[-_AT_ONCE_MAX]
        join_all([longest_ago], longest_ago.bound_s + _GRACE_S)
        return self._operators[len(self._asking) % _AT_ONCE_MAX]


class _Played:
    """A gambit in progress.

    It has its choices, the number of moves made, the names of the faults tried, and the static members that
    were away when it waited for one.
    """

    def __init__(self, name: str, gambit: Gambit) -> None:
        self.name = name
        self.gambit = gambit
        self.chosen = Chosen()
        self.made = 0
        self.faults: list[str] = []
        self.away: Away = {}


def _counted(number: int, least: int) -> ConditionState:
    return ConditionState(number >= least, number)


def _members(away: Away) -> ConditionState:
    return ConditionState(bool(away), sorted(instance for _, instance in away))


def _topic_of(choice: Choice, chosen: Chosen) -> str | None:
    match choice:
        case ChooseSuccessor() | ChooseNewcomers():
            return None if chosen.where is None else chosen.where[0]
        case ChoosePartition(topic=topic):
            return topic
        case Given(where=(topic, _)):
            return topic
        case ChooseCoordinator():
            return OFFSETS_TOPIC
        case _:
            return None


def _kind(value: msgspec.Struct) -> str:
    fields: Planned = msgspec.to_builtins(value)
    return str(fields.get("move") or fields.get("kind"))
