"""The process that has the JVM: carries out what clients in its parent ask for, as long as the parent lives.

It has its own session, so that Ctrl-C reaches only the parent.  Each client has a thread, and a connection
that arrives as a file over the socket to the parent.  At the end of that socket the process ends at once.
"""

import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness.clients.administrator import AdministratorOptions
from harness.clients.group import MemberOptions
from harness.clients.interface import ClientFailedError, ConsumerOptions, ProducerOptions, ReadError
from harness.clients.java import jvm
from harness.clients.java.administering import JavaAdministrator
from harness.clients.java.consuming import JavaConsumer
from harness.clients.java.copying import JavaGroupConsumer
from harness.clients.java.grouping import JavaMember
from harness.clients.java.messages import Answer, ClientCall, Options, Raised, Returned
from harness.clients.java.producing import JavaProducer
from harness.clients.java.sharing import JavaShareAdmin, JavaShareConsumer
from harness.clients.java.streaming import JavaStreams
from harness.clients.java.transacting import JavaTransactionalProducer
from harness.clients.share import ShareAdminOptions, ShareOptions
from harness.clients.streams import StreamsOptions
from harness.clients.transactional import GroupOptions, TransactionalOptions, TransactionError

READY = b"ready"
_FORESEEN = (ClientFailedError, ReadError, TransactionError)
_NOBODY = ("127.0.0.1:9",)
_MAKERS: dict[type[Options], Callable[[Any], Any]] = {
    ProducerOptions: JavaProducer,
    ConsumerOptions: JavaConsumer,
    TransactionalOptions: JavaTransactionalProducer,
    MemberOptions: JavaMember,
    GroupOptions: JavaGroupConsumer,
    ShareOptions: JavaShareConsumer,
    ShareAdminOptions: JavaShareAdmin,
    StreamsOptions: JavaStreams,
    AdministratorOptions: JavaAdministrator,
}
"""What makes a client, by the type of its options."""


def main(words: list[str]) -> None:
    """Start the JVM, say so, and serve until the parent is gone.

    Args:
        words: number of the socket's file, the file that the JVM writes if it crashes, and the jars.
    """
    parent = socket.socket(fileno=int(words[0]))
    parent.set_inheritable(False)
    jvm.start(words[2:], Path(words[1]))
    _warm_up()
    parent.sendall(READY)
    code = 1
    try:
        _admit(parent)
        code = 0
    except BaseException:  # noqa: BLE001 - the process ends by it, and says why
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)  # the threads of the JVM, and those that wait for brokers, are not waited for


def _admit(parent: socket.socket) -> None:
    """Serve each client that the parent sends a connection of, until the parent is gone."""
    while True:
        _, files, _, _ = socket.recv_fds(parent, 1, 1)
        if not files:
            return
        threading.Thread(target=serve, args=(Connection(files[0]), opened), daemon=True).start()


def _warm_up() -> None:
    """Load the library's classes: the first clients would take as long as the load's first operations."""
    JavaProducer(ProducerOptions(_NOBODY, "none")).close(0)
    JavaConsumer(ConsumerOptions(_NOBODY, "none")).close(0)


def opened(options: Options) -> Any:
    """A client by its options.

    Raises:
        ClientFailedError: it could not be made.
    """
    return _MAKERS[type(options)](options)


def serve(connection: "Connection[Answer, Options | ClientCall]", make: Callable[[Options], Any]) -> None:
    """Carry out the calls of one client until it is closed, or its owner is gone."""
    client: Any = None
    with connection:
        try:
            while True:
                message = connection.recv()
                if isinstance(message, ClientCall):
                    connection.send(_answer(getattr(client, message.method), *message.arguments))
                    continue
                answer = _answer(make, message)
                if isinstance(answer, Returned):
                    client, answer = answer.value, Returned(None)
                connection.send(answer)
        except (EOFError, OSError):
            if client is not None:
                _answer(client.close, 0.0)
        finally:
            jvm.detach()


def _answer(method: Callable[..., Any], *arguments: Any) -> Answer:
    try:
        return Returned(method(*arguments))
    except _FORESEEN as error:
        return Raised(error)
    except BaseException:  # noqa: BLE001 - raised again in the parent, where it ends the run
        return Raised(RuntimeError(traceback.format_exc()))


if __name__ == "__main__":
    main(sys.argv[1:])
