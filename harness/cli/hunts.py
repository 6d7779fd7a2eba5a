"""A hunt's runs: each is chosen by what the store's runs have not shown yet, until the time is spent."""

import hashlib
import random
import threading
import time
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from checkers.identity import RunIdentity
from harness.cli.campaigns import Campaign, sum_up
from harness.cli.contents import Contents
from harness.cli.doing import told_on_terminal
from harness.cli.running import run_missing
from harness.errors import UsageError, disk_errors_told
from harness.hunting.choosing import Choice, Done, choose
from harness.hunting.kinds import Kind, path_of
from harness.planning import RunOptions, RunPlan, plan_run
from harness.runner import Host
from harness.standby import Standby
from results.markdown import number
from results.measures import load_measures
from results.states import ALPHABET, Visited
from results.states.stored import visited_in
from results.store import RunUnreadableError, load_identity, load_record, run_folders, save_record
from results.summary import Outcome, RunOutcome, Summary, outcome_of

STATE_FILE = "hunt.json"
CHOSEN_FILE = "chosen.json"
"""In the folder of each run: why it was chosen, and what it added."""
FAILURES_MAX = 3
"""So many failures of the harness one after the other end a hunt: there is no engine, or no room."""
_FOLDER = "hunts"
_SEEDS = 1_000_000_000
_BEST_MAX = 3


class Hunted(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a hunt.

    Attributes:
        number: from 1 on.
        command: the line that runs it again.
        path: of its kind.
        why: it was chosen, in a sentence.
        expected: how many new states and transitions it was expected to show.
        alphabet: version of the words of states.
        new_states: how many it showed that no run of the store had shown.
        new_transitions: as many transitions.
        spent_s: how long it took, from its beginning until it was judged, seconds.
        at_once: how many runs went on at the same time, this one among them.
        folder: the run's, seen from the store; empty where the harness failed.
        failure: why it did.
    """

    number: int
    command: str
    path: tuple[str, ...]
    why: str
    expected: float
    alphabet: int = ALPHABET
    new_states: int = 0
    new_transitions: int = 0
    spent_s: float = 0
    at_once: int = 1
    folder: str = ""
    failure: str = ""

    @property
    def new(self) -> int:
        """How many states and transitions it added."""
        return self.new_states + self.new_transitions


class _State(msgspec.Struct):
    """What a hunt has done so far; one that is over begins anew."""

    asked: str
    runs: list[Hunted] = []
    over: bool = False


class Asked(NamedTuple):
    """What is to be hunted.

    Attributes:
        kinds: of runs to choose from.
        budget_s: seconds to spend.
        seed: fixes what is left to chance.
        first: stop at the first find.
        line: what was asked for, as one types it.
    """

    kinds: tuple[Kind, ...]
    budget_s: int
    seed: int
    first: bool
    line: str


class Next(NamedTuple):
    """A run that was chosen.

    Attributes:
        plan: of the run.
        choice: what was expected of it.
        why: it was chosen, in a sentence.
        expected_s: how long it is expected to take, seconds.
    """

    plan: RunPlan
    choice: Choice
    why: str
    expected_s: float


class Hunt:
    """A hunt in a store; its state is on disk after every run, so that the same command goes on.

    Args:
        asked: what is to be hunted.
        runs: the store, whose other runs count as seen where they are of the same Kafka.

    Attributes:
        runs: the store.
        at_once: how many runs go on at the same time.
        folder: its own, with its state and its summary.
        first_plan: a run of the first kind; all take the same Kafka.

    Raises:
        StoreError: what it has done so far can't be read.
    """

    def __init__(self, asked: Asked, runs: Path) -> None:
        self._asked = asked
        self.runs = runs
        self.at_once = 1
        self._contents = Contents()
        self.first_plan = plan_run(asked.kinds[0].options)
        self._kafka = self._contents.of_plan(self.first_plan)
        key = f"{asked.line} of {self._kafka.key or self._kafka.version}"
        self.folder = runs / _FOLDER / hashlib.sha256(key.encode()).hexdigest()[:10]
        self._state = self._resumed(key)
        self._before = len(self._state.runs)
        self._seen: dict[Path, tuple[Done, Visited]] = {}

    @property
    def left_s(self) -> float:
        """Seconds that are not spent yet."""
        return self._asked.budget_s - sum(run.spent_s / run.at_once for run in self._state.runs)

    @property
    def is_over(self) -> bool:
        """Whether no run is to follow: the first find is there, or nothing but failures come."""
        return self._state.over or self._stuck()

    def look(self) -> None:
        """Read what every run of the store has shown; of most it is written in their folders."""
        folders = [folder for folder in run_folders(self.runs) if folder.resolve() not in self._seen]
        with told_on_terminal(len(folders)) as tell:
            for folder in folders:
                tell(folder.name)
                self._take(folder)

    def next(self, *under_way: Next) -> Next | None:
        """The run that comes next and why; None where none fits into the time that is left.

        Args:
            under_way: runs that were chosen before and are not over: that there are such counts, what they
                show does not.
        """
        waits = len(under_way) >= self.at_once
        left_s = self.left_s - (sum(one.expected_s for one in under_way) / self.at_once if waits else 0)
        fitting = [kind for kind in self._asked.kinds if kind.expected_ms / 1_000 <= left_s]
        if not fitting:
            return None
        done = [run for run, _ in self._seen.values()] + self._failed()
        done += [Done(path_of(one.plan.options), frozenset(), 0) for one in under_way]
        source = random.Random(f"{self._asked.seed} {len(done)}")
        choice = choose([(kind.path, kind.expected_ms / 1_000) for kind in fitting], done, source)
        kind = fitting[choice.kind]
        chosen = msgspec.structs.replace(kind.options, seed=source.randrange(_SEEDS))
        return Next(plan_run(chosen), choice, told(choice, kind), kind.expected_ms / 1_000)

    def run_all(self, cancelled: threading.Event) -> None:
        """Run until the time is spent, the first find where that was asked for, or an interruption.

        Each run is chosen before the one that precedes it begins, beside whose end its cluster is started:
        what that one shows counts from the next choice on.
        """
        self.look()
        found = self.next()
        with Standby(self.runs, cancelled) as standby:
            while not (cancelled.is_set() or self.is_over) and found is not None:
                then = self.next(found)
                host = Host(runs=self.runs, standby=standby, following=then.plan if then else None)
                self._run(found, host, cancelled)
                found = then if then is not None and then.expected_s <= self.left_s else self.next()
        self.close(cancelled)

    def close(self, cancelled: threading.Event) -> None:
        """Keep whether the hunt is over: it is not where it was interrupted, or nothing but failures came."""
        if not cancelled.is_set() and not self._stuck():
            self._state.over = True
        self._save()

    def finish(self) -> Summary:
        """Write the summary of what there is, and say what was found."""
        outcomes = [self._outcome(run) for run in self._state.runs]
        runs = number(len(outcomes), "run")
        summary = sum_up(self.folder, f"hunt {self._asked.line}", outcomes, runs)
        states, transitions = self._known()
        click.echo(f"known    {states:,} states and {transitions:,} transitions, of {len(self._seen):,} runs")
        for run in sorted(self._state.runs, key=lambda run: -run.new)[:_BEST_MAX]:
            if run.new:
                click.echo(
                    f"new      {run.new_states} states, {run.new_transitions} transitions: {run.command}"
                )
        for run in self.finds():
            click.echo(f"FOUND    {run.command}\n         {self.runs / run.folder}")
        if not self._state.over:
            click.echo(f"left     {minutes(max(self.left_s, 0))}; the same command goes on")
        return summary

    def finds(self) -> list[Hunted]:
        """Runs that are invalid and were not expected to be; of Kafka with a seeded bug all that are."""
        return [run for run in self._state.runs if run.folder and self._is_find(run)]

    def _is_find(self, run: Hunted) -> bool:
        ended = self._outcome(run)
        seeded = ended.identity is not None and bool(ended.identity.seeded_bug)
        return ended.outcome is Outcome.INVALID and (seeded or ended.as_expected is not True)

    def _outcome(self, run: Hunted) -> RunOutcome:
        if run.folder:
            return outcome_of(self.runs / run.folder)
        return RunOutcome(folder=f"run {run.number}", outcome=Outcome.FAILED, reasons=(run.failure,))

    def title(self, under_way: int = 0) -> str:
        """What the next run is among the others, for people."""
        spent = f"{minutes(self._asked.budget_s - self.left_s)} of {minutes(self._asked.budget_s)}"
        return f"run {len(self._state.runs) + under_way + 1}, {spent}"

    def campaign(self, plan: RunPlan) -> Campaign:
        """The campaign that a run is."""
        plans = {plan.options.seed: plan}
        return Campaign(self.runs, plan.options.scenario, plans, keep_complete=True, contents=self._contents)

    def _run(self, found: Next, host: Host, cancelled: threading.Event) -> None:
        plan = found.plan
        click.echo(f"=== {self.title()}: {plan.reproduce}\nchosen     {found.why}")
        campaign = self.campaign(plan)
        began = time.monotonic()
        run_missing(campaign, {plan.options.seed: plan}, host, cancelled)
        self.take(found, campaign, time.monotonic() - began, interrupted=cancelled.is_set())

    def take(self, found: Next, campaign: Campaign, spent_s: float, *, interrupted: bool) -> None:
        """Take what came of a run, and keep it.

        Args:
            found: the run.
            campaign: that it is, and that has recorded how it ended.
            spent_s: how long it took, seconds.
            interrupted: whether it was ended early; then it does not count.
        """
        plan = found.plan
        folder = campaign.done.get(plan.options.seed)
        failure = campaign.failed.get(plan.options.seed, "")
        if folder is None and interrupted:
            return
        before = self._known()
        if folder is not None:
            self._take(folder)
        states, transitions = self._known()
        hunted = Hunted(
            number=len(self._state.runs) + 1,
            command=plan.reproduce,
            path=path_of(plan.options),
            why=found.why,
            expected=round(found.choice.expected, 1),
            new_states=states - before[0],
            new_transitions=transitions - before[1],
            spent_s=round(spent_s, 1),
            at_once=self.at_once,
            folder="" if folder is None else str(folder.resolve().relative_to(self.runs.resolve())),
            failure=failure,
        )
        self._state.runs.append(hunted)
        self._state.over = self._asked.first and bool(self.finds())
        self._save()
        if folder is not None:
            with disk_errors_told():
                save_record(folder / CHOSEN_FILE, hunted)
            told_new = f"{hunted.new_states} new states, {hunted.new_transitions} new transitions"
            click.echo(f"reached    {told_new}; {states:,} and {transitions:,} are known")

    def _take(self, folder: Path) -> None:
        """Take what a run has shown, if it can be read and was of the same Kafka."""
        try:
            identity, took_ms = load_identity(folder), load_measures(folder).duration_ms
        except RunUnreadableError:
            return
        bug = self._asked.kinds[0].options.seeded_bug or ""
        if identity.seeded_bug != bug or not self._kafka.is_of(identity):
            return
        with disk_errors_told():
            found = visited_in(folder)
        if found is None:
            # Were it left out, its kind would look as if it had not been tried.
            click.echo(
                f"krucible: {folder}: its history can't be read; it counts as showing nothing", err=True
            )
            found = Visited(frozenset(), frozenset())
        items = found.states | found.transitions
        self._seen[folder.resolve()] = Done(_path_of(identity), items, took_ms / 1_000), found

    def _failed(self) -> list[Done]:
        """Runs in which the harness failed: nothing was shown, and chance goes on."""
        return [Done(run.path, frozenset(), run.spent_s) for run in self._state.runs if not run.folder]

    def _stuck(self) -> bool:
        """Whether nothing but failures came of the last runs of this call."""
        last = self._state.runs[self._before :][-FAILURES_MAX:]
        return len(last) == FAILURES_MAX and not any(run.folder for run in last)

    def _known(self) -> tuple[int, int]:
        """How many states and transitions all runs have shown."""
        found = [visited for _, visited in self._seen.values()]
        states = frozenset().union(*(one.states for one in found))
        return len(states), len(frozenset().union(*(one.transitions for one in found)))

    def _resumed(self, key: str) -> _State:
        with disk_errors_told():
            self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / STATE_FILE).exists():
            return _State(key)
        state = load_record(self.folder / STATE_FILE, _State)
        here = [run for run in state.runs if not run.folder or (self.runs / run.folder).is_dir()]
        if state.over:
            return _State(key)
        click.echo(f"resuming: {number(len(here), 'run')} of this hunt")
        return _State(key, here)

    def _save(self) -> None:
        with disk_errors_told():
            save_record(self.folder / STATE_FILE, self._state)


def told(choice: Choice, kind: Kind) -> str:
    """Why a run was chosen, in a sentence."""
    name = " ".join(kind.path)
    if not choice.runs:
        return f"{name}: never run, and no run tells what to expect of it"
    ran = f"run {choice.of_kind} times" if choice.of_kind else "never run"
    by = f"by {number(choice.runs, 'run')} like it"
    return f"{name}: {ran}; {choice.expected:.0f} new states and transitions expected, {by}"


def minutes(seconds: float) -> str:
    """A time as one reads it."""
    return f"{seconds / 60:.0f} min"


def _path_of(identity: RunIdentity) -> tuple[str, ...]:
    """Of the kind of a run; one whose scenario is no longer there is of a kind of its own."""
    try:
        return path_of(msgspec.convert(identity.options, RunOptions))
    except (UsageError, msgspec.ValidationError):
        return ("other", identity.scenario, "", "")
