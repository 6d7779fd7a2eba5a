"""The offsets workload: committed offsets of groups as registers."""

from msgspec.structs import replace

from harness.clients.administrator import Administrator, AdministratorOptions
from harness.clients.administrator_opening import Make
from harness.clients.interface import ClientKind
from harness.vocabulary import OffsetsWorkload
from harness.workloads.context import WorkloadContext
from harness.workloads.offsets_emptied import EMPTIED, EmptyingWorker
from harness.workloads.offsets_erasing import ErasingWorker, FinalErasureReader
from harness.workloads.registers import FinalRegisterReader, Register, RegisterWorker
from harness.workloads.worker import Worker

OffsetsContext = WorkloadContext[OffsetsWorkload]


def offsets_workers(context: OffsetsContext, make: Make | None = None) -> list[Worker]:
    """Processes that commit and fetch, the process that deletes, and the one that joins and leaves."""
    registers = offset_registers(context)
    clients = context.workload.clients
    made = _patiently(make or context.clients.administrator, context.workload.patience_ms)
    return [
        *(RegisterWorker(context, number, clients, registers, made) for number in range(clients)),
        ErasingWorker(context, clients),
        *([EmptyingWorker(context, clients + 1)] if context.workload.emptied_interval_ms else []),
    ]


def offsets_final_workers(context: OffsetsContext, deadline: float, make: Make | None = None) -> list[Worker]:
    """For each library a reader of all registers, and one reader of the deleted groups."""
    registers = offset_registers(context)
    kinds, make = len(context.libraries), make or context.clients.administrator
    readers = [FinalRegisterReader(context, index, registers, deadline, make) for index in range(kinds)]
    others = EMPTIED if context.workload.emptied_interval_ms else ()
    return [*readers, FinalErasureReader(context, kinds, deadline, others)]


def offset_registers(context: OffsetsContext) -> list[Register]:
    """``offset/<group>/<topic>/<partition>`` for every group and partition."""
    return [
        _register(f"group-{group}", context.topic, partition)
        for group in range(context.workload.groups)
        for partition in range(context.workload.partitions)
    ]


def _patiently(make: Make, patience_ms: int) -> Make:
    """A maker whose clients of kafka-python wait this long; one request is nearly the whole operation."""

    def made(kind: ClientKind, options: AdministratorOptions) -> Administrator:
        if kind is ClientKind.KAFKA_PYTHON:
            rest_ms = options.operation_ms - options.request_ms
            options = replace(options, operation_ms=patience_ms, request_ms=patience_ms - rest_ms)
        return make(kind, options)

    return made


def _register(group: str, topic: str, partition: int) -> Register:
    return Register(
        f"offset/{group}/{topic}/{partition}",
        lambda client, value: client.commit_offset(group, topic, partition, value),
        lambda client: client.committed_offset(group, topic, partition),
    )
