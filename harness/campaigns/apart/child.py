"""The child process: executes runs for its parent process, and exits when the parent exits.

The child has its own session, so Ctrl-C reaches only the parent, which decides what to do then.  If the
parent is killed during a run, the child exits at once, and `krucible heal` cleans up.
"""

import faulthandler
import os
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from harness.campaigns.apart.messages import Answer, Began, Failed, Order, StopRequest, sendable
from harness.campaigns.cancelling import CANCELLING
from harness.campaigns.exits import EXIT_INTERRUPTED, forgive_streams
from harness.campaigns.performing import perform
from harness.record.events import Event, RunBegan
from harness.run.run_host import Host
from harness.run.standby import Standby


def main(words: list[str]) -> int:
    """Execute the runs that the parent orders.

    Args:
        words: file descriptor of the connection, the store, and the words of the parent's command.

    Returns:
        The exit code.
    """
    forgive_streams()
    # The stack of the thread that ended the process is its last output.  Threads that still run can't be read
    # safely: ten of a hundred aborts ended as SIGSEGV in the attempt (Python 3.11).
    faulthandler.enable(all_threads=False)
    handle, runs = int(words[0]), Path(words[1])
    sys.argv = words[2:]  # which is recorded as the command of each run
    os.set_inheritable(handle, False)  # noqa: FBT003 - it takes no keyword
    desk = OrderInbox(Connection(handle))
    for number in CANCELLING:
        signal.signal(number, desk.on_signal)
    threading.Thread(target=desk.listen, name="orders", daemon=True).start()
    try:
        with Standby(runs, desk.cancelled) as standby:
            while (order := desk.next()) is not None:
                host = Host(runs=runs, keep=order.keep, standby=standby, following=order.following)
                desk.end(_answer(order, host, desk))
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


class OrderInbox:
    """Receives orders and sends answers.

    Args:
        connection: to the parent.

    Attributes:
        cancelled: whether the current run is to end early.
    """

    def __init__(self, connection: "Connection[Answer, Order | StopRequest]") -> None:
        self.cancelled = threading.Event()
        self._connection = connection
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._busy = threading.Event()
        self._stopped = threading.Event()
        self._telling = threading.Lock()

    def listen(self) -> None:
        """Receive orders from the parent; when the parent is gone, end the current run."""
        try:
            while True:
                self._take(self._connection.recv())
        except (EOFError, OSError):
            if self._busy.is_set():
                os.kill(os.getpid(), signal.SIGKILL)
            self._orders.put(None)

    def next(self) -> Order | None:
        """Wait for the next order; None if there will be no more."""
        return self._orders.get()

    def reply(self, answer: Answer) -> None:
        """Send an answer to the parent; if the parent is gone, `listen` handles that."""
        try:
            with self._telling:
                self._connection.send(answer)
        except OSError:
            return

    def end(self, answer: Answer) -> None:
        """Send how the run ended; after that no run is in progress."""
        self._busy.clear()
        self.reply(answer)

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Stop if the parent ordered it; a signal to all processes of a command is meant for the parent."""
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def _take(self, message: Order | StopRequest) -> None:
        if isinstance(message, Order):
            self._busy.set()
            self._orders.put(message)
        elif message is StopRequest.CANCEL:
            self.cancelled.set()
        else:
            self._stopped.set()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _answer(order: Order, host: Host, desk: OrderInbox) -> Answer:
    def hear(event: Event) -> None:
        if isinstance(event, RunBegan):
            desk.reply(Began(Path(event.folder)))

    try:
        return perform(order.plan, host, desk.cancelled, hear)
    except Exception as error:  # noqa: BLE001 - raised again by the parent
        return Failed(sendable(error))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
