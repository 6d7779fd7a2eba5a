"""A share group in memory whose errors the test decides."""

import threading
from collections.abc import Callable, Mapping, Sequence

from harness.clients import ClientKind, Isolation, LogConsumer, LogProducer
from harness.clients.share import Acknowledgement, ShareAdminOptions, SharedRecord, ShareOptions
from tests.harness.fakes.log import FakeLog, raise_if


class FakeShareLog(FakeLog):
    """A log with one share group; every hook returns what is to go wrong, or None."""

    def __init__(self, partitions: int) -> None:
        super().__init__(partitions)
        self.counts: dict[tuple[int, int], int] = {}
        self.held: dict[tuple[int, int], FakeShareConsumer] = {}
        self.done: set[tuple[int, int]] = set()
        self.configs: list[tuple[str, dict[str, str]]] = []
        self.options: list[ShareOptions] = []
        self.isolations: list[Isolation] = []
        self.on_acknowledge: Callable[[], Exception | None] = lambda: None
        self.on_starts: Callable[[], Exception | None] = lambda: None
        self.on_config: Callable[[], Exception | None] = lambda: None
        self.refuses: dict[int, str] = {}
        self.expires = False
        """Whether the lock of the first records ends before they are acknowledged, and they stay away."""
        self.begun: list[bool] = []
        """Whether partition 0 has a start offset, answer by answer; it has one after these."""

    def producer(self, kind: ClientKind, topic: str, *, durable: bool = False) -> LogProducer:
        assert topic == "shares-0"
        return super().producer(kind, "log-0", durable=durable)

    def consumer(self, kind: ClientKind, topic: str, isolation: Isolation) -> LogConsumer:
        assert topic == "shares-0"
        self.isolations.append(isolation)
        return super().consumer(kind, "log-0", isolation)

    def share_consumer(self, options: ShareOptions) -> "FakeShareConsumer":
        assert self.configs, "a member must not join before its group begins at the start of the log"
        self._make("share consumer")
        self.options.append(options)
        return FakeShareConsumer(self, options)

    def share_admin(self, options: ShareAdminOptions) -> "FakeShareAdmin":
        assert options.request_ms > 0
        self._make("share admin")
        return FakeShareAdmin(self)

    def start(self, partition: int) -> int:
        """Offset of the first record that is not done."""
        end = len(self.partitions[partition])
        return next((o for o in range(end) if (partition, o) not in self.done), end)


class FakeShareConsumer:
    """A member of the group."""

    def __init__(self, log: FakeShareLog, options: ShareOptions) -> None:
        self._log = log
        self._options = options
        self._lock = threading.Lock()
        self._renewed: list[SharedRecord] = []

    def poll(self, max_wait_s: float) -> list[SharedRecord]:
        assert max_wait_s > 0
        raise_if(self._log.on_poll())
        renewed, self._renewed = self._renewed, []
        held = {place for place, holder in self._log.held.items() if holder is self}
        assert held == {record[:2] for record in renewed}, "all must be acknowledged before the next poll"
        if renewed:
            return renewed
        found: list[SharedRecord] = []
        with self._log.lock:
            for partition, records in enumerate(self._log.partitions):
                for offset, value in enumerate(records):
                    place = (partition, offset)
                    if place in self._log.done or place in self._log.held:
                        continue
                    if len(found) < self._options.poll_records_max:
                        self._log.held[place] = self
                        count = self._log.counts[place] = self._log.counts.get(place, 0) + 1
                        found.append(SharedRecord(partition, offset, value, count))
        return found

    def acknowledge(self, acknowledgements: Sequence[Acknowledgement]) -> dict[int, str]:
        raise_if(self._log.on_acknowledge())
        if self._log.expires:
            return self._expired(acknowledgements)
        with self._log.lock:
            for partition, offset, kind in acknowledgements:
                if kind == "renew" and partition not in self._log.refuses:
                    value, count = (
                        self._log.partitions[partition][offset],
                        self._log.counts[partition, offset],
                    )
                    self._renewed.append(SharedRecord(partition, offset, value, count, renewed=True))
                    continue
                del self._log.held[partition, offset]
                if kind not in ("release", "renew") and partition not in self._log.refuses:
                    self._log.done.add((partition, offset))
        return self._log.refuses

    def _expired(self, acknowledgements: Sequence[Acknowledgement]) -> dict[int, str]:
        self._log.expires = False
        with self._log.lock:
            for partition, offset, _ in acknowledgements:
                del self._log.held[partition, offset]
                self._log.done.add((partition, offset))
        return {partition: "INVALID_RECORD_STATE: its lock has ended" for partition, *_ in acknowledgements}

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        with self._log.lock:
            for place in [place for place, holder in self._log.held.items() if holder is self]:
                del self._log.held[place]
        self._log.close()


class FakeShareAdmin:
    """An administrator of the group."""

    def __init__(self, log: FakeShareLog) -> None:
        self._log = log

    def configure(self, group: str, configs: Mapping[str, str]) -> None:
        raise_if(self._log.on_config())
        self._log.configs.append((group, dict(configs)))

    def starts(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int | None]:
        assert (group, topic) == ("share-0", "shares-0")
        raise_if(self._log.on_starts())
        begun = self._log.begun.pop(0) if self._log.begun else True
        return {p: self._log.start(p) if p or begun else None for p in partitions}

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self._log.close()
