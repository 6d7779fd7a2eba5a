"""Carries out a schedule with a nemesis, operators of admin operations, and a view of the cluster."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import msgspec

from checkers.history.observed import PartitionAnswer
from checkers.history.phases import Phase
from harness.faults.reservations import Reservations
from harness.kafka.answers import Place
from harness.kafka.endpoint import Endpoint
from harness.kafka.snapshot import ClusterSnapshot
from harness.kafka.wire import WireError
from harness.nemesis.blinking import Blinking
from harness.nemesis.course import CourseContext
from harness.nemesis.gambits import GambitCourse
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.operator import Operator
from harness.nemesis.script import ScriptCourse
from harness.nemesis.timed import Timed
from harness.nemesis.timed_operations import TimedOperations
from harness.observers import Observers
from harness.observers.view import ClusterView
from harness.plan.schedule import Planned, blinks_of
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import Recorder
from harness.run.healing import bench_of
from harness.run.retention import end_retention, limits_of
from harness.run.stage import Stage
from harness.vocabulary import Workload
from harness.vocabulary.moves import ScriptedSchedule
from harness.vocabulary.scenario import FixedSchedule
from harness.workloads.context import WorkloadContext
from harness.workloads.deleting import Deletions
from harness.workloads.load import Load

_BESIDE_BOUND_S = 90.0
"""Time for the operation in progress at the end.  Before a throttled reassignment each broker gets a request,
one after the other, and a silent broker takes ten seconds."""
_RETENTION_BOUND_S = 20.0
_LOOK_TIMEOUT_S = 0.5


class Execution:
    """Nemesis and operators of one run.

    Args:
        stage: stage of the run.
        view: the latest observations.
        check: raises if a worker or an observer has died.
        cancelled: set to end the schedule early.
        deletions: deletions of records, for gambits that request them.
    """

    def __init__(
        self,
        stage: Stage,
        view: ClusterView,
        check: Callable[[], None],
        cancelled: threading.Event,
        deletions: Deletions,
    ) -> None:
        self._stage = stage
        self._deletions = deletions
        self._view = view
        self._check = check
        self._cancelled = cancelled
        self._operators: list[Operator] = []
        self._operators_made = 0
        self._beside: list[Timed] = []
        self._bench = bench_of(stage.cluster)
        self._reservations = Reservations()
        recorder = Recorder(stage.journals.open("nemesis", "nemesis"), "nemesis")
        self.nemesis = Nemesis(
            recorder,
            stage.ledger,
            self._bench,
            self._snapshot_for_faults,
            cancelled,
            new_recorder=self._another_nemesis,
            reservations=self._reservations,
        )

    def carry_out(self, schedule: Planned) -> None:
        """Carry out the schedule.  Faults may be in force when it returns; `nemesis.heal_all` heals them.

        Raises:
            KrucibleError: the harness could not do its work.
        """
        match schedule:
            case ScriptedSchedule():
                self._play(schedule)
            case FixedSchedule(gambits=()):
                self._act(schedule, self.nemesis.carry_out)
            case FixedSchedule():
                course = self._gambits()
                self._act(schedule, lambda steps: self.nemesis.carry_out(steps, course.carry_out))
                course.end()

    def remove_throttles(self) -> None:
        """Remove the throttles of reassignments and the configs of single brokers that operators have set.

        What one of them leaves does not keep the others from being removed.

        Raises:
            WireError: no broker answers, or one refuses.
        """
        failures = []
        for operator in self._operators:
            for remove in (operator.remove_throttles, operator.remove_broker_configs):
                try:
                    remove()
                except WireError as error:
                    failures.append(error)
        if failures:
            raise failures[0]

    def end_retention(self) -> Iterator[str]:
        """End retention by age and size; yields what could not be done."""
        limits = limits_of(self._stage.plan.scenario.workload.topics)
        if limits:
            cluster = self._stage.cluster
            brokers = [at for name, at in cluster.observe_listeners.items() if name not in cluster.ended]
            yield from end_retention(self._new_operator(), brokers, limits, _RETENTION_BOUND_S)

    def _play(self, schedule: ScriptedSchedule) -> None:
        cluster, assumed = self._stage.cluster, self._stage.plan.scenario.assumptions
        context = self._course("moves", self._new_operator)
        course = ScriptCourse(context, cluster.set_properties, cluster.addresses, assumed.fault_held_ms)
        course.carry_out(schedule)

    def _gambits(self) -> GambitCourse:
        # The first operator performs the operations that the schedule has at given times.
        return GambitCourse(self._course("gambits", lambda: self._new_operator(least=2)), self._deletions)

    def _course(self, process: str, new_operator: Callable[[], Operator]) -> CourseContext:
        recorder = Recorder(self._stage.journals.open(process, "script"), process)
        return CourseContext(
            self.nemesis, new_operator, recorder, self._snapshot, self._stage.tally, self._cancelled
        )

    def _act(self, schedule: FixedSchedule, carry_out: Callable[[FixedSchedule], None]) -> None:
        """Carry out the operations and blinks of a schedule at their times, in parallel to its faults."""
        if schedule.acts:
            self._beside.append(
                TimedOperations(self._new_operator(), schedule.acts, self._stage.journals.clock)
            )
        if schedule.blinks:
            self._beside.append(self._blinking(schedule))
        for one in self._beside:
            one.start()
        try:
            carry_out(schedule)
        except BaseException:
            # The error that ended the schedule is reported, not its consequences.
            self._dismiss()
            raise
        self._dismiss()
        for one in self._beside:
            one.end(0.0)

    def _dismiss(self) -> None:
        """Let no thread begin a further action, and wait for the current ones."""
        for one in self._beside:
            one.hurry()
        for one in self._beside:
            one.join(_BESIDE_BOUND_S)

    def _blinking(self, schedule: FixedSchedule) -> Blinking:
        return Blinking(
            blinks_of(schedule),
            self._another_nemesis("nemesis-blinks"),
            self._stage.ledger,
            self._bench,
            look=self._snapshot_for_faults,
            reservations=self._reservations,
            cancelled=self._cancelled,
        )

    def _another_nemesis(self, name: str) -> Recorder:
        return Recorder(self._stage.journals.open(name, "nemesis"), name)

    def _new_operator(self, least: int = 1) -> Operator:
        """Another operator: ``admin``, ``admin-2`` and so on, with at least the number `least`."""
        number = self._operators_made = max(self._operators_made + 1, least)
        name = "admin" if number == 1 else f"admin-{number}"
        recorder = Recorder(self._stage.journals.open(name, "operator"), name)
        self._operators.append(Operator(self._stage.cluster, recorder, self._snapshot, self._stage.sizes))
        return self._operators[-1]

    def _snapshot_for_faults(self) -> ClusterSnapshot:
        """The current state of the cluster, with dead nodes; raises if another thread has died."""
        snapshot = self._snapshot()
        for one in self._beside:
            one.check()
        return msgspec.structs.replace(snapshot, dead=self._stage.cluster.ended - self.nemesis.down)

    def _snapshot(self, beside: str | None = None) -> ClusterSnapshot:
        """The current state of the cluster; partitions of a topic that is not observed are requested."""
        self._check()
        stage = self._stage
        seen = self._view.snapshot(stage.cluster.nodes, stage.topics, stage.sizes)
        asked = None if beside is None or any(one.name == beside for one in seen.topics) else beside
        return msgspec.structs.replace(
            seen,
            reported=seen.reported if asked is None else seen.reported | self._partitions_of(asked),
            min_insync_replicas=stage.plan.scenario.workload.min_insync_replicas,
            down=self.nemesis.down,
        )

    def _partitions_of(self, topic: str) -> dict[Place, tuple[PartitionAnswer, ...]]:
        """Partitions of a topic, as each broker reports them that answers now."""
        found: dict[Place, tuple[PartitionAnswer, ...]] = {}
        for node, address in self._stage.cluster.observe_listeners.items():
            if node in self.nemesis.down:
                continue
            endpoint = Endpoint(*address, _LOOK_TIMEOUT_S)
            with suppress(WireError), closing(endpoint):
                for state in endpoint.cluster((topic,)).topics[topic].partitions:
                    place = (topic, state.partition)
                    found[place] = (*found.get(place, ()), state)
        return found


def execution_of(
    stage: Stage,
    context: WorkloadContext[Workload],
    observers: Observers,
    load: Load,
    cancelled: threading.Event,
) -> Execution:
    """The execution of a run; no fault begins after a worker of the load or an observer has died."""

    def check() -> None:
        load.check()
        observers.check()

    return Execution(stage, observers.view, check, cancelled, Deletions(context))


def heal_faults(stage: Stage, execution: Execution, failures: HarnessFailures) -> None:
    """Heal every fault, even if the disk is full and the phase can't be recorded; `failures` is told.

    Raises:
        JournalError: the phase could not be recorded; the faults are healed.
        KrucibleError: a fault could not be healed.
    """
    try:
        stage.phase(Phase.HEAL)
    finally:
        execution.nemesis.heal_all()
    failures.healed = True
