"""Who carries a schedule out: the nemesis, the operators of admin operations, and what they look at."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

from harness.faults.taking import Taking
from harness.faults.targets import Copies, Sight
from harness.kafka.answers import PartitionAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import WireError
from harness.nemesis.blinking import Blinking
from harness.nemesis.gambits import GambitCourse, GambitSurroundings
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.operator import Operator
from harness.nemesis.script import ScriptCourse, ScriptSurroundings
from harness.nemesis.situation import Situation, TopicSize
from harness.nemesis.timed import Timed
from harness.nemesis.timed_operations import TimedOperations
from harness.observers.view import ClusterView
from harness.plan.schedule import Planned, blinks_of
from harness.record.journal import Recorder
from harness.run.healing import bench_of
from harness.run.retaining import end_retention, limits_of
from harness.run.stage import Stage
from harness.vocabulary.moves import ScriptedSchedule
from harness.vocabulary.scenario import FixedSchedule
from harness.workloads.deleting import Deletions

_BESIDE_BOUND_S = 90.0
"""For the operation that is going on at the end: before a throttled reassignment each broker is asked, one
after the other, and a silent one takes ten seconds."""
_RETENTION_BOUND_S = 20.0
_LOOK_TIMEOUT_S = 0.5


class Execution:
    """Nemesis and operators of one run.

    Args:
        stage: the run's.
        view: what observers saw last.
        check: raises when a worker or an observer has died.
        cancelled: set to end the schedule early.
        deletions: of records, for gambits that ask for them.
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
        self._taking = Taking()
        recorder = Recorder(stage.journals.open("nemesis", "nemesis"), "nemesis")
        self.nemesis = Nemesis(
            recorder,
            stage.ledger,
            self._bench,
            self._sight,
            cancelled,
            new_recorder=self._another_nemesis,
            taking=self._taking,
        )

    def carry_out(self, schedule: Planned) -> None:
        """Do what the schedule says; faults that are in force at its end are left to the nemesis.

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
                self._act(schedule, lambda steps: self.nemesis.carry_out(steps, course.play))
                course.end()

    def settle(self) -> None:
        """Take away what operators leave behind when they are done: limits on moving replicas.

        Raises:
            WireError: no broker answers, or one refuses.
        """
        failures = []
        for operator in self._operators:
            try:
                operator.settle()
            except WireError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def end_retention(self) -> Iterator[str]:
        """Let nothing be removed for its age or size any more; yields what could not be done."""
        limits = limits_of(self._stage.plan.scenario.workload.topics)
        if limits:
            cluster = self._stage.cluster
            brokers = [at for name, at in cluster.observe_listeners.items() if name not in cluster.ended]
            yield from end_retention(self._new_operator(), brokers, limits, _RETENTION_BOUND_S)

    def _play(self, schedule: ScriptedSchedule) -> None:
        recorder = Recorder(self._stage.journals.open("moves", "script"), "moves")
        cluster = self._stage.cluster
        surroundings = ScriptSurroundings(
            self._situation,
            self._stage.tally,
            cluster.set_properties,
            cluster.addresses,
            self._stage.plan.scenario.assumptions.fault_held_ms,
        )
        course = ScriptCourse(self.nemesis, self._new_operator, recorder, surroundings, self._cancelled)
        course.carry_out(schedule)

    def _gambits(self) -> GambitCourse:
        recorder = Recorder(self._stage.journals.open("gambits", "script"), "gambits")
        around = GambitSurroundings(self._situation, self._stage.tally, self._deletions)
        # The first operator performs what the schedule has at given times.
        return GambitCourse(
            self.nemesis, lambda: self._new_operator(least=2), recorder, around, self._cancelled
        )

    def _act(self, schedule: FixedSchedule, strike: Callable[[FixedSchedule], None]) -> None:
        """The operations and blinks of a schedule at their times, while its faults are carried out."""
        if schedule.acts:
            self._beside.append(
                TimedOperations(self._new_operator(), schedule.acts, self._stage.journals.clock)
            )
        if schedule.blinks:
            self._beside.append(self._blinking(schedule))
        for one in self._beside:
            one.start()
        try:
            strike(schedule)
        except BaseException:
            # What ended the schedule is told, and not what else came of it.
            self._dismiss()
            raise
        self._dismiss()
        for one in self._beside:
            one.end(0.0)

    def _dismiss(self) -> None:
        """Nobody begins anything further, and what is going on is waited for."""
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
            look=self._sight,
            taking=self._taking,
            cancelled=self._cancelled,
        )

    def _another_nemesis(self, name: str) -> Recorder:
        return Recorder(self._stage.journals.open(name, "nemesis"), name)

    def _new_operator(self, least: int = 1) -> Operator:
        """One more operator: ``admin``, ``admin-2`` and so on, of that number at least."""
        number = self._operators_made = max(self._operators_made + 1, least)
        name = "admin" if number == 1 else f"admin-{number}"
        recorder = Recorder(self._stage.journals.open(name, "operator"), name)
        self._operators.append(Operator(self._stage.cluster, recorder, self._situation, self._stage.sizes))
        return self._operators[-1]

    def _sight(self, down: frozenset[str]) -> Sight:
        self._check()
        for one in self._beside:
            one.check()
        return Sight(
            nodes=self._stage.cluster.nodes,
            active_controller=self._view.active_controller(),
            leaders=self._view.leaders(self._stage.topics[0].name),
            down=down,
            dead=self._stage.cluster.ended - self.nemesis.down,
            copies=self._copies(),
        )

    def _copies(self) -> Copies:
        moment, out = self._view.out_of_sync()
        return Copies(
            told={(topic, number): self._view.tellings(topic, number) for topic, number in self._places()},
            least=self._stage.plan.scenario.workload.min_insync_replicas,
            quorum=self._view.quorum(),
            now_ms=time.time_ns() // 1_000_000,
            moment=moment,
            out=out,
        )

    def _situation(self, beside: str | None = None) -> Situation:
        """The cluster now; the partitions of a topic that nobody observes are asked for."""
        self._check()
        partitions = {
            (topic, number): self._view.partition(topic, number) for topic, number in self._places()
        }
        observed = {where: state for where, state in partitions.items() if state is not None}
        if beside is not None and all(topic.name != beside for topic in self._stage.topics):
            observed |= self._asked_for(beside)
        return Situation(
            nodes=self._stage.cluster.nodes,
            down=self.nemesis.down,
            partitions=observed,
            quorum=self._view.quorum(),
            ongoing=self._view.ongoing(),
            loaded=self._loaded(),
        )

    def _loaded(self) -> TopicSize:
        """The workload's first topic."""
        first = self._stage.topics[0]
        return TopicSize(first.name, len(first.partitions), len(self._stage.sizes.places([first])))

    def _places(self) -> list[tuple[str, int]]:
        """Partitions of the workload's topics, with those that were added, or that a broker tells of."""
        for topic in self._stage.topics:
            self._stage.sizes.grew(topic.name, self._view.size(topic.name))
        return self._stage.sizes.places(self._stage.topics)

    def _asked_for(self, topic: str) -> dict[tuple[str, int], PartitionAnswer]:
        """Partitions of a topic, as the broker with the newest leader epoch of each tells now."""
        found: dict[tuple[str, int], PartitionAnswer] = {}
        listeners = self._stage.cluster.observe_listeners
        for node, address in listeners.items():
            if node in self.nemesis.down:
                continue
            endpoint = Endpoint(*address, _LOOK_TIMEOUT_S)
            with suppress(WireError), closing(endpoint):
                for state in endpoint.cluster((topic,)).topics[topic].partitions:
                    where = (topic, state.partition)
                    found[where] = max(found.get(where, state), state, key=lambda one: one.leader_epoch)
        return found
