"""Clients of kafka-clients in the run's process: each passes its calls on to the process with the JVM."""

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.history.operations import OperationType
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer, AdministratorOptions
from harness.clients.group import MemberOptions, PolledRecords
from harness.clients.interface import (
    ClientFailedError,
    ConsumerOptions,
    Message,
    ProducerOptions,
    ProducerRecord,
    ReadError,
    SendResult,
)
from harness.clients.java.messages import ClientCall, Options, Raised
from harness.clients.java.process import JavaProcess, ask
from harness.clients.share import Acknowledgement, ShareAdminOptions, SharedRecord, ShareOptions
from harness.clients.streams import StreamsOptions, StreamsStatus
from harness.clients.transactional import (
    GroupOffsets,
    GroupOptions,
    Identity,
    TopicRecord,
    TransactionalOptions,
    TransactionError,
)

_MAKE_S = 15.0
_GRACE_S = 3.0
"""How much longer than its bound a call may take: a busy host lets the other process wait."""


class SilentError(Exception):
    """The process with the JVM did not answer in time."""


class Remote:
    """One client in the process with the JVM; used by one thread.

    Args:
        process: the process.
        options: what is made there.

    Raises:
        ClientFailedError: it could not be made.
        JavaDiedError: the process has ended, as every call raises, or makes no client any more.
    """

    def __init__(self, process: JavaProcess, options: Options) -> None:
        self._process = process
        self._connection = process.connect()
        self._silent: str | None = None
        try:
            self._asked("making it", options, _MAKE_S)
        except SilentError as error:
            self._connection.close()
            raise self._process.hung(str(error)) from error
        except ClientFailedError:
            self._connection.close()
            raise

    @property
    def silent(self) -> bool:
        """Whether a call did not return in time, so that nothing can be asked any more."""
        return self._silent is not None

    def call(self, method: str, *arguments: object, within_s: float) -> Any:
        """What a method of the client returns.

        Args:
            method: its name.
            arguments: its arguments.
            within_s: how long it may take by itself.

        Raises:
            SilentError: it did not return in time; nothing can be asked any more.
            Exception: what it raised.
        """
        return self._asked(method, ClientCall(method, arguments), within_s + _GRACE_S)

    def close(self, timeout_s: float) -> None:
        """Close the client.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        try:
            if self._silent is not None:
                raise ClientFailedError(f"{self._silent}, and has not since")
            self._asked("close", ClientCall("close", (timeout_s,)), timeout_s)
        except SilentError as error:
            raise ClientFailedError(str(error)) from error
        finally:
            self._connection.close()

    def _asked(self, what: str, message: Options | ClientCall, patience_s: float) -> Any:
        if self._silent is not None:
            raise SilentError(self._silent)
        try:
            answer = ask(self._connection, message, patience_s)
        except (EOFError, OSError) as error:
            raise self._process.death() from error
        if answer is None:
            self._silent = f"{self._process.kind}: {what} did not return within {patience_s:.1f} s"
            raise SilentError(self._silent)
        if isinstance(answer, Raised):
            raise answer.error
        return answer.value


class RemoteProducer:
    """A `LogProducer` in the JVM."""

    def __init__(self, process: JavaProcess, options: ProducerOptions) -> None:
        self._bound_s = options.delivery_ms / 1000
        self._remote = Remote(process, options)

    def send(self, batch: Sequence[ProducerRecord]) -> list[SendResult]:
        """As promised by `LogProducer.send`, but for `JavaDiedError`."""
        try:
            sent: list[SendResult] = self._remote.call("send", list(batch), within_s=self._bound_s)
        except SilentError as error:
            return [SendResult(OperationType.INFO, error=str(error))] * len(batch)
        return sent

    def close(self, timeout_s: float) -> None:
        """As promised by `LogProducer.close`."""
        self._remote.close(timeout_s)


class _RemoteReader:
    """A client in the JVM whose calls raise `ReadError`, also if the process is silent."""

    def __init__(
        self,
        process: JavaProcess,
        options: ConsumerOptions | MemberOptions | GroupOptions | ShareOptions | ShareAdminOptions,
    ) -> None:
        self._request_s = options.request_ms / 1000
        self._remote = Remote(process, options)

    def close(self, timeout_s: float) -> None:
        """As promised by the protocol of the client."""
        self._remote.close(timeout_s)

    def _read(self, method: str, *arguments: object, within_s: float) -> Any:
        try:
            return self._remote.call(method, *arguments, within_s=within_s)
        except SilentError as error:
            raise ReadError(str(error)) from error


class RemoteConsumer(_RemoteReader):
    """A `LogConsumer` in the JVM."""

    def assign(self, positions: Mapping[int, int]) -> None:
        """As promised by `LogConsumer.assign`."""
        self._read("assign", dict(positions), within_s=self._request_s)

    def poll(self, max_wait_s: float) -> list[Message]:
        """As promised by `LogConsumer.poll`."""
        messages: list[Message] = self._read("poll", max_wait_s, within_s=max_wait_s + self._request_s)
        return messages

    def position(self, partition: int) -> int | None:
        """As promised by `LogConsumer.position`."""
        position: int | None = self._read("position", partition, within_s=self._request_s)
        return position

    def offsets(self, partitions: Sequence[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        """As promised by `LogConsumer.offsets`."""
        found: dict[int, tuple[int, int]] = self._read(
            "offsets", list(partitions), timeout_s, within_s=timeout_s
        )
        return found


class RemoteMember(_RemoteReader):
    """A `GroupMember` in the JVM."""

    def __init__(self, process: JavaProcess, options: MemberOptions) -> None:
        super().__init__(process, options)
        self._commit_s = options.commit_ms / 1000
        self._owned: frozenset[int] = frozenset()

    @property
    def owned(self) -> frozenset[int]:
        """As promised by `GroupMember.owned`, as of the last poll; empty after one that failed."""
        return self._owned

    def poll(self, max_wait_s: float) -> PolledRecords:
        """As promised by `GroupMember.poll`; committed offsets may be requested within it, more than once."""
        self._owned = frozenset()
        gathered: PolledRecords
        gathered, self._owned = self._read("poll", max_wait_s, within_s=max_wait_s + 2 * self._request_s)
        return gathered

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        """As promised by `GroupMember.commit`, but for `JavaDiedError`."""
        try:
            answer: AdminAnswer = self._remote.call("commit", dict(offsets), within_s=self._commit_s)
        except SilentError as error:
            return AdminAnswer(OperationType.INFO, error=str(error))
        return answer


class RemoteTransactionalProducer:
    """A `TransactionalProducer` in the JVM."""

    def __init__(self, process: JavaProcess, options: TransactionalOptions) -> None:
        self._bound_s = options.delivery_ms / 1000
        self._remote = Remote(process, options)

    def initialise(self, timeout_s: float) -> Identity:
        """As promised by `TransactionalProducer.initialise`."""
        identity: Identity = self._step("initialise", timeout_s)
        return identity

    def begin(self) -> int | None:
        """As promised by `TransactionalProducer.begin`."""
        version: int | None = self._step("begin")
        return version

    def send(self, batch: Sequence[TopicRecord]) -> list[SendResult]:
        """As promised by `TransactionalProducer.send`, but for `JavaDiedError`."""
        try:
            sent: list[SendResult] = self._remote.call("send", list(batch), within_s=2 * self._bound_s)
        except SilentError as error:
            return [SendResult(OperationType.INFO, error=str(error))] * len(batch)
        return sent

    def send_offsets(self, offsets: GroupOffsets, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.send_offsets`."""
        self._step("send_offsets", offsets, timeout_s)

    def commit(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.commit`."""
        self._step("commit", timeout_s)

    def abort(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.abort`."""
        self._step("abort", timeout_s)

    def close(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.close`."""
        self._remote.close(timeout_s)

    def _step(self, method: str, *arguments: object) -> Any:
        try:
            return self._remote.call(method, *arguments, within_s=self._bound_s)
        except SilentError as error:
            raise TransactionError(str(error)) from error


class RemoteGroupConsumer(_RemoteReader):
    """A `GroupConsumer` in the JVM."""

    def poll(self, max_wait_s: float) -> list[Message]:
        """As promised by `GroupConsumer.poll`."""
        messages: list[Message] = self._read("poll", max_wait_s, within_s=max_wait_s + self._request_s)
        return messages

    def rewind(self, positions: Mapping[int, int]) -> None:
        """As promised by `GroupConsumer.rewind`."""
        self._read("rewind", dict(positions), within_s=self._request_s)

    def membership(self) -> object:
        """As promised by `GroupConsumer.membership`."""
        membership: object = self._read("membership", within_s=self._request_s)
        return membership


class RemoteShareConsumer(_RemoteReader):
    """A `ShareConsumer` in the JVM."""

    def poll(self, max_wait_s: float) -> list[SharedRecord]:
        """As promised by `ShareConsumer.poll`."""
        records: list[SharedRecord] = self._read("poll", max_wait_s, within_s=max_wait_s + self._request_s)
        return records

    def acknowledge(self, acknowledgements: Sequence[Acknowledgement]) -> dict[int, str]:
        """As promised by `ShareConsumer.acknowledge`."""
        unconfirmed: dict[int, str] = self._read(
            "acknowledge", list(acknowledgements), within_s=self._request_s
        )
        return unconfirmed


class RemoteShareAdmin(_RemoteReader):
    """A `ShareAdmin` in the JVM."""

    def configure(self, group: str, configs: Mapping[str, str]) -> None:
        """As promised by `ShareAdmin.configure`."""
        self._read("configure", group, dict(configs), within_s=self._request_s)

    def starts(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int | None]:
        """As promised by `ShareAdmin.starts`."""
        found: dict[int, int | None] = self._read(
            "starts", group, topic, list(partitions), within_s=self._request_s
        )
        return found


class RemoteStreams:
    """A `StreamsMember` in a JVM of its own, which ends with it.

    Args:
        process: its process, which has no other client.
        options: how it behaves.

    Raises:
        ClientFailedError: it could not be made.
        JavaDiedError: its process has ended, as `status` and `close` raise.
    """

    def __init__(self, process: JavaProcess, options: StreamsOptions) -> None:
        self._process = process
        self._bound_s = options.request_ms / MS_PER_S
        self._remote = Remote(process, options)

    def status(self) -> StreamsStatus:
        """As promised by `StreamsMember.status`."""
        try:
            found: StreamsStatus = self._remote.call("status", within_s=self._bound_s)
        except SilentError as error:
            raise ReadError(str(error)) from error
        return found

    def kill(self) -> None:
        """As promised by `StreamsMember.kill`."""
        self._process.kill()

    def close(self, timeout_s: float) -> None:
        """As promised by `StreamsMember.close`."""
        try:
            self._remote.close(timeout_s)
        finally:
            self._process.kill()


class RemoteAdministrator:
    """An `Administrator` in the JVM."""

    def __init__(self, process: JavaProcess, options: AdministratorOptions) -> None:
        self._bound_s = options.operation_ms / 1000
        self._remote = Remote(process, options)

    @property
    def spent(self) -> bool:
        """As promised by `Administrator.spent`; the library recovers from its own errors."""
        return self._remote.silent

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> AdminAnswer:
        """As promised by `Administrator.commit_offset`, but for `JavaDiedError`."""
        return self._answer("commit_offset", group, topic, partition, offset)

    def committed_offset(self, group: str, topic: str, partition: int) -> AdminAnswer:
        """As promised by `Administrator.committed_offset`, but for `JavaDiedError`."""
        return self._answer("committed_offset", group, topic, partition, otherwise=OperationType.FAIL)

    def alter_config(self, topic: str, key: str, value: int) -> AdminAnswer:
        """As promised by `Administrator.alter_config`, but for `JavaDiedError`."""
        return self._answer("alter_config", topic, key, value)

    def config(self, topic: str, key: str) -> AdminAnswer:
        """As promised by `Administrator.config`, but for `JavaDiedError`."""
        return self._answer("config", topic, key, otherwise=OperationType.FAIL)

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> AdminAnswer:
        """As promised by `Administrator.create_topic`, but for `JavaDiedError`."""
        return self._answer("create_topic", topic, partitions, replication_factor)

    def delete_topic(self, topic: str) -> AdminAnswer:
        """As promised by `Administrator.delete_topic`, but for `JavaDiedError`."""
        return self._answer("delete_topic", topic)

    def close(self, timeout_s: float) -> None:
        """As promised by `Administrator.close`."""
        self._remote.close(timeout_s)

    def _answer(
        self, method: str, *arguments: object, otherwise: OperationType = OperationType.INFO
    ) -> AdminAnswer:
        try:
            answer: AdminAnswer = self._remote.call(method, *arguments, within_s=self._bound_s)
        except SilentError as error:
            return AdminAnswer(otherwise, error=str(error))
        return answer
