"""Faults of one node's process: kill and restart, clean stop, pause; each is proven with a request."""

import time
from collections.abc import Callable

from harness.cluster.containers import SIGKILLED
from harness.cluster.rendering import CLIENT_PORT, CONTROLLER_PORT
from harness.faults.activate import carries_out
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import Pair
from harness.faults.targets import Resolved
from harness.kafka.wire import answers
from harness.record.ledger import Undo
from harness.vocabulary.faults import Kill, Pause, Stop

PROBE_BOUND_S = 15.0
STOP_BOUND_S = 20
_REQUEST_TIMEOUT_S = 0.5
_SILENCE_S = 0.1
"""A process is unresponsive if a request gets no answer within this time and Docker reports its state."""
_PAUSE_S = 0.1


class _ProcessFault:
    """The common parts of the three faults: one target, no cut, and a listener for probes."""

    cut: tuple[Pair, ...] = ()

    def __init__(self, _: object, __: str, resolved: Resolved, bench: Bench) -> None:
        self._bench = bench
        self._containers = bench.containers[resolved.node.name]
        self._address = bench.addresses[resolved.node.name]
        self._port = CONTROLLER_PORT if resolved.node.is_controller else CLIENT_PORT
        self.targets = (resolved.node.name,)

    def _await_answer(self) -> bool:
        """Whether the node answers within the probe's bound.

        Raises:
            NotConfirmedError: the node has no process.
        """
        deadline = time.monotonic() + PROBE_BOUND_S
        while not self._answers(_REQUEST_TIMEOUT_S):
            self._confirm_alive()
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    def _confirm_alive(self) -> None:
        if not self._containers.state()["Running"]:
            raise NotConfirmedError(f"{self.targets[0]} is dead: its process ended by itself")

    def _answers(self, timeout_s: float) -> bool:
        return answers(self._address, self._port, timeout_s=timeout_s)

    def _await_silence(self) -> None:
        if not within(self._bench.bound_s(PROBE_BOUND_S), lambda: not self._answers(_SILENCE_S)):
            raise NotConfirmedError(f"{self.targets[0]} still answers requests")


class Restarting(_ProcessFault):
    """A fault whose node is down until the heal starts it again."""

    @property
    def undo(self) -> tuple[Undo, ...]:
        """Start the node."""
        return (Undo(action="start", node=self.targets[0]),)

    def took_effect(self) -> dict[str, object]:
        """Check that the process has ended, and that the node does not answer."""
        self._await_silence()
        state = self._containers.state()
        if state["Running"]:
            raise NotConfirmedError(f"{self.targets[0]} still runs")
        return {"exit_code": state["ExitCode"], "hard": state["ExitCode"] == SIGKILLED}

    def heal(self) -> None:
        """Start the node on the same disk, in the same network namespace."""
        self._containers.start()

    def healed(self) -> dict[str, object]:
        """Check that the process runs; also report whether it answers, which needs a majority."""
        began = time.monotonic()
        answering = self._await_answer()
        return {"answers": answering, "answered_after_ms": round((time.monotonic() - began) * 1000)}


@carries_out(Kill)
class ActiveKill(Restarting):
    """SIGKILL: nothing is flushed or sent before the end."""

    def inject(self) -> None:
        """Kill the node's process."""
        self._containers.kill()


@carries_out(Stop)
class ActiveStop(Restarting):
    """SIGTERM: a controlled shutdown; after `STOP_BOUND_S` the node is killed and recorded as hard."""

    def inject(self) -> None:
        """Stop the node's process."""
        self._containers.stop(STOP_BOUND_S)


@carries_out(Pause)
class ActivePause(_ProcessFault):
    """All threads are frozen: the kernel keeps and accepts connections, but no request is answered."""

    @property
    def undo(self) -> tuple[Undo, ...]:
        """Let the node's threads continue."""
        return (Undo(action="unpause", node=self.targets[0]),)

    def inject(self) -> None:
        """Freeze all threads of the node."""
        self._containers.pause()

    def took_effect(self) -> dict[str, object]:
        """Check that a request gets no answer."""
        self._await_silence()
        self._confirm_alive()
        if not self._containers.state()["Paused"]:
            raise NotConfirmedError(f"{self.targets[0]} is not paused")
        return {"paused": True}

    def heal(self) -> None:
        """Let the node's threads continue."""
        self._containers.unpause()

    def healed(self) -> dict[str, object]:
        """Check that the node answers a request again."""
        if not self._await_answer():
            raise NotConfirmedError(f"{self.targets[0]} does not answer")
        return {"answers": True}


def within(bound_s: float, condition: Callable[[], bool]) -> bool:
    """Whether the condition became true within the bound; it is evaluated at short intervals."""
    deadline = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True
