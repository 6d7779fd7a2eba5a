"""Lanes of the bulk workload: each is a process of the history with at most one outstanding batch."""

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, Producer

from checkers.history.operations import OperationType
from checkers.history.sends import AnsweredRun, SentRun
from harness.clients.confluent import REPORTS_AFTER_FATAL_S, error_text, fate_of, made, producer_config
from harness.clients.errors import raised_by_send
from harness.clients.interface import ClientFailedError, ProducerOptions, SendResult
from harness.record.journal import Recorder
from harness.workloads.producing import complete_send
from harness.workloads.values import Values

_REPORT_GRACE_S = 1.0
_NO_REPORT = SendResult(OperationType.INFO, error="no delivery report within the delivery timeout")


class Lane:
    """Sends batches of consecutive values to one partition.

    It has its own producer, and a new one after every batch that was not completely acknowledged.  Otherwise
    librdkafka would, after a delivery timeout, begin a new epoch and resend outstanding records of others.

    Args:
        recorder: writes as the lane's process.
        partition: the partition that it sends to.
        options: options of its producers.
        prefix: prefix of the run's records.
        batch: records per operation.
    """

    def __init__(
        self, recorder: Recorder, partition: int, options: ProducerOptions, prefix: bytes, batch: int
    ) -> None:
        self._recorder = recorder
        self._partition = partition
        self._options = options
        self._prefix = prefix
        self._batch = batch
        self._values = Values(int(recorder.process))
        self._producer: Producer | None = None
        self._first = 0
        self._payloads: list[bytes] = []
        self._reported: list[tuple[bytes, int | None, KafkaError | None]] = []
        self._refused: dict[bytes, SendResult] = {}
        self._silent = _NO_REPORT
        self._deadline_s = 0.0

    @property
    def busy(self) -> bool:
        """Whether a batch is outstanding."""
        return bool(self._payloads)

    def poll(self) -> None:
        """Process the delivery reports that have arrived."""
        if self._producer is None:
            return
        try:
            self._producer.poll(0)
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the records' outcome
            # A fatal error is raised once; the reports of the affected records follow.
            self._silent = SendResult(OperationType.INFO, error=error_text(error))
            self._deadline_s = min(self._deadline_s, time.monotonic() + REPORTS_AFTER_FATAL_S)

    def retire(self) -> Producer | None:
        """Return the producer, which the lane no longer uses."""
        producer, self._producer = self._producer, None
        return producer

    def begin(self) -> None:
        """Send the next batch; the invocation is on disk before the first record is queued.

        Raises:
            JournalError: it could not be written.
        """
        self._first = self._values.draw_many(self._batch)
        run = SentRun(self._partition, self._first, self._batch)
        self._recorder.invoke("send", self._options.topic, run)
        self._payloads = [b"%b%d" % (self._prefix, self._first + index) for index in range(self._batch)]
        self._reported = reported = []
        self._silent = _NO_REPORT
        self._deadline_s = time.monotonic() + self._options.delivery_ms / 1000 + _REPORT_GRACE_S

        def report(error: KafkaError | None, message: Any) -> None:
            reported.append((message.value(), message.offset(), error))

        records: list[dict[str, object]] = [{"value": payload} for payload in self._payloads]
        try:
            if self._producer is None:
                self._producer = made(Producer, producer_config(self._options))
            self._producer.produce_batch(
                self._options.topic, records, partition=self._partition, on_delivery=report
            )
        except ClientFailedError as error:
            nothing = SendResult(OperationType.FAIL, error=f"no client, nothing sent: {error}")
            self._refused = dict.fromkeys(self._payloads, nothing)
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the records' outcome
            self._refused = dict.fromkeys(
                self._payloads, SendResult(OperationType.INFO, error=error_text(error))
            )
        else:
            self._refused = {
                payload: _refusal(record["_error"])
                for payload, record in zip(self._payloads, records, strict=True)
                if "_error" in record
            }

    def finish(self) -> tuple[OperationType, int] | None:
        """Complete the batch if every record was reported, or no longer can be; how, and how many were ok.

        Raises:
            JournalError: it could not be written.
        """
        if len(self._reported) + len(self._refused) < self._batch and time.monotonic() < self._deadline_s:
            return None
        payloads, self._payloads = self._payloads, []
        if _all_well(self._reported, payloads):
            offsets = _runs([offset for _, offset, _ in self._reported])
            run = AnsweredRun(self._partition, self._first, self._batch, offsets)
            self._recorder.complete(OperationType.OK, run)
            return OperationType.OK, self._batch
        fates = self._refused | {
            payload: fate_of(error, offset, self._options) for payload, offset, error in self._reported
        }
        sent = [fates.get(payload, self._silent) for payload in payloads]
        values = [(self._partition, self._first + index) for index in range(self._batch)]
        kind = complete_send(self._recorder, values, sent)
        return kind, sum(one.outcome is OperationType.OK for one in sent)


def _refusal(error: object) -> SendResult:
    """The outcome of a record that librdkafka refused."""
    outcome, reason = raised_by_send(str(error))
    return SendResult(outcome, error=reason)


def _all_well(
    reported: Sequence[tuple[bytes, int | None, KafkaError | None]], payloads: Sequence[bytes]
) -> bool:
    """Whether every record was acknowledged at an offset, in the order of the batch."""
    return [payload for payload, _, _ in reported] == payloads and all(
        error is None and offset is not None and offset >= 0 for _, offset, error in reported
    )


def _runs(offsets: Sequence[int | None]) -> list[tuple[int, int]]:
    """Offsets as ranges of consecutive offsets: first offset, length."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and runs[-1][0] + runs[-1][1] == offset:
            runs[-1][1] += 1
        else:
            runs.append([offset or 0, 1])
    return [(first, length) for first, length in runs]
