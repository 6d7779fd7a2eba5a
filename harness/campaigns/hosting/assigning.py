"""Assigns runs to hosts: the next run goes to a host with a free slot."""

import queue
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

import click

from harness.campaigns.hosting.host_options import HostOptions
from harness.campaigns.hosting.orders import Order, Report, ReportFolder, Site, decode, encode
from harness.campaigns.hosting.table import ListedHost, able, hosts_text, look_at
from harness.campaigns.hosting.tasks import CARRY_OUT, CLEAR_SLOTS, Clearing
from harness.campaigns.keeping import show
from harness.errors import KrucibleError
from harness.plan.planning import RequestedImage, RunPlan
from results.markup.markdown import number
from results.pipeline.errors import PipelineError
from results.pipeline.spark.hosts import Hosts, hosts_of

GONE_S = 120.0
"""Time without an executor, in seconds, after which no host is left."""
PATIENCE_S = 60.0
"""How long a lost run may take to heal and clean up on its host."""
_POLL_S = 0.5
_CANCELLED_POLL_S = 0.1


class RunToDo(NamedTuple):
    """A run that is to be made.

    Attributes:
        plan: plan of the run.
        title: describes the run among the others, for people.
    """

    plan: RunPlan
    title: str


class Work(Protocol):
    """Runs to be made; used by one thread."""

    def next(self) -> RunToDo | None:
        """The next run; None if there is none, or none before another one has ended."""

    def take(self, asked: RunToDo, report: Report) -> None:
        """Record how a run ended."""


class WorkingHosts:
    """Hosts that fulfil all requirements and make runs.

    Args:
        hosts: all hosts of the master.
        usable: hosts that can make runs.
        clusters: number of clusters at once on each.
        desk: where they report; its folder is in the store.
    """

    def __init__(self, hosts: Hosts, usable: Sequence[ListedHost], clusters: int, desk: ReportFolder) -> None:
        self._hosts = hosts
        self._usable = tuple(usable)
        self._clusters = clusters
        self._desk = desk
        self._free = deque(host for _ in range(clusters) for host in self._usable)
        self._busy: dict[int, tuple[RunToDo, ListedHost]] = {}
        self._ended: queue.SimpleQueue[tuple[int, Report | PipelineError | OSError]] = queue.SimpleQueue()
        self._numbers = count(1)
        self._lost = False

    @property
    def at_once(self) -> int:
        """The number of runs at the same time."""
        return self._clusters * len(self._usable)

    def run_all(self, work: Work, cancelled: threading.Event) -> None:
        """Assign runs to hosts until none is left, no host is left, or the event is set."""
        try:
            with self._stopping(cancelled) as stop:
                if not self._assign_all(work, cancelled, stop):
                    return
        except KeyboardInterrupt:
            names = ", ".join(host.name for host in self._usable)
            click.echo(
                f"runs on {names} heal and clean up by themselves within a minute; krucible heal there "
                "removes what is left",
                err=True,
            )
            raise
        self._clear()

    @contextmanager
    def _stopping(self, cancelled: threading.Event) -> Iterator[Future[bool]]:
        """Order all runs to end as soon as the event is set; the result is whether they were ordered to.

        A thread of its own does it: a question to Spark can take as long as a run, and a run that is
        ordered to end too late ends as if nobody had interrupted it.
        """
        over = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            stop = pool.submit(self._stop_once, cancelled, over)
            try:
                yield stop
            finally:
                over.set()

    def _stop_once(self, cancelled: threading.Event, over: threading.Event) -> bool:
        while not cancelled.wait(_CANCELLED_POLL_S):
            if over.is_set():
                return False
        self._desk.stop()
        return True

    def _assign_all(self, work: Work, cancelled: threading.Event, stop: Future[bool]) -> bool:
        """Assign runs until none is left; returns whether a host is left."""
        seen_at = time.monotonic()
        while self._hand_out(work, cancelled, stop) or self._busy:
            if self._take(work) or self._hosts.names():
                seen_at = time.monotonic()
            if time.monotonic() - seen_at > GONE_S:
                click.echo(f"krucible: no host is left; {len(self._busy)} runs are lost", err=True)
                return False
        return True

    def _hand_out(self, work: Work, cancelled: threading.Event, stop: Future[bool]) -> bool:
        """Assign runs to free hosts, unless cancelled; returns whether any was assigned."""
        if cancelled.is_set():
            # Raises the error if the order could not be written.
            stop.result()
            return False
        given = False
        while self._free and (asked := work.next()) is not None:
            self._give(next(self._numbers), asked, self._free.popleft())
            given = True
        return given

    def _give(self, place: int, asked: RunToDo, host: ListedHost) -> None:
        self._busy[place] = asked, host
        click.echo(f"--- {asked.title}, to {host.name}: {asked.plan.reproduce}")
        click.echo(f"log        {self._desk.log(place)}")
        order = Order(
            number=place,
            options=asked.plan.options,
            place=self._desk.place,
            site=self._site(host),
            machines=tuple(each.seen.machine for each in self._usable),
        )
        threading.Thread(target=self._await, args=(host, order), daemon=True).start()

    def _site(self, host: ListedHost) -> Site:
        return Site(store=self._desk.store, scratch=host.seen.scratch, slots=self._clusters)

    def _await(self, host: ListedHost, order: Order) -> None:
        try:
            answer = self._hosts.ask(host.name, CARRY_OUT, encode(order))
        except (PipelineError, OSError) as error:
            self._ended.put((order.number, error))
        else:
            report = Report(host.name, failure=answer.problem)
            if answer.data:
                report = decode(answer.data, Report)
            self._ended.put((order.number, report))

    def _take(self, work: Work) -> bool:
        """Wait a moment for a run to end; returns whether one did."""
        try:
            place, ended = self._ended.get(timeout=_POLL_S)
        except queue.Empty:
            return False
        asked, host = self._busy.pop(place)
        if not isinstance(ended, Report):
            self._lost = True
            ended = Report(host.name, failure=f"{host.name} gets no more runs. {ended}")
        else:
            self._free.append(host)
        self._print(place, asked, ended)
        work.take(asked, ended)
        return True

    def _print(self, place: int, asked: RunToDo, report: Report) -> None:
        click.echo(f"=== {asked.title}, from {report.host}")
        for lost in self._desk.begun(place)[:-1]:
            self._lost = True
            click.echo(
                f"lost       it had begun on {lost.host} at {lost.began_at}, in {lost.folder} there, "
                "and was cut short; it does not count"
            )
        if report.text:
            show(report.text)
        if report.failure:
            click.echo(f"krucible: {asked.title} failed: {report.failure}", err=True)

    def _clear(self) -> None:
        """Remove the leftovers of lost runs on every reachable host."""
        patience_s = PATIENCE_S if self._lost else 0.0
        here = self._hosts.names()
        for host in self._usable:
            if host.name not in here:
                click.echo(
                    f"krucible: {host.name} is gone; krucible heal there removes what it left", err=True
                )
                continue
            clearing = encode(Clearing(self._site(host), patience_s))
            try:
                text = self._hosts.ask(host.name, CLEAR_SLOTS, clearing).data.decode()
            except (PipelineError, OSError) as error:
                text = str(error)
            for line in text.splitlines():
                click.echo(f"{host.name}: {line}")


@contextmanager
def working_hosts(asked: HostOptions, runs: Path, images: Iterable[RequestedImage]) -> Iterator[WorkingHosts]:
    """Check all hosts, report problems, and yield those that fulfil all requirements.

    Args:
        asked: the options for hosts.
        runs: the shared store.
        images: images that the runs need.

    Raises:
        KrucibleError: no host can make runs.
        PipelineError: there is no Spark, no master, or no host.
    """
    desk = ReportFolder.opened(runs.resolve())
    with hosts_of(asked.master) as hosts:
        found = look_at(hosts, desk, asked.scratch, tuple(dict.fromkeys(images)))
        click.echo(hosts_text(found))
        usable = able(found)
        if not usable:
            raise KrucibleError(
                "no host can do runs",
                got=f"{number(len(found), 'host')}, each with a missing requirement",
                where=asked.master,
                next_step="fix what is listed above; docs/hosts.md lists what a host needs",
            )
        yield WorkingHosts(hosts, usable, asked.clusters, desk)
