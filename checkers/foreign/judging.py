"""Judges an imported history, using only the checkers of its workload."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from checkers.foreign.conversion import history_of
from checkers.foreign.kafka import kafka_history_of
from checkers.foreign.records import Foreign
from checkers.foreign.workloads import TRANSACTIONS, ForeignWorkload, functions_of, workload_of
from checkers.history.operations import OK, History
from checkers.judge import judge_by
from checkers.logs.log import check_log
from checkers.registers import applies, check_registers
from checkers.registers.linearizability import MODELS, check_linearizable
from checkers.registers.linearizability.canonical import UnreadableError, canonical, shown
from checkers.transactional.transactions import (
    NOTHING_DECLARED,
    ConsistencyModel,
    Declared,
    check_list_append,
    check_rw_register,
    check_transactions,
)
from checkers.verdict.entry import Checker
from checkers.verdict.verdict import CheckerResult, Verdict, result_of

STRICTEST = ConsistencyModel.STRICT_SERIALIZABLE
"""The model that transactions are checked against unless another one is requested."""

_NAMED_MAX = 3

READING = "reading"
"""Name of the result about reading the history."""


class UnfitError(ValueError):
    """A workload, a model or an initial value that does not fit the others, or the history.

    Attributes:
        expected: the values that would fit.
    """

    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(problem)
        self.expected = expected


class JudgingOptions(NamedTuple):
    """Options for judging a history, as given by the caller.

    Attributes:
        workload: name of a `ForeignWorkload`; inferred if None.
        model: a consistency model of transactions, or an object, which determines the workload too.
        initial: the object's initial value; for registers that transactions read and write, the initial value
            of each, or a map by name.
        declared: properties of each register that transactions read and write.
    """

    workload: str | None = None
    model: str | None = None
    initial: object = None
    declared: Declared = NOTHING_DECLARED


class ForeignJudgement(NamedTuple):
    """A verdict on an imported history, with its workload and model.

    Attributes:
        workload: the workload whose checkers judged it.
        model: the model that it was checked against; None for logs, which are checked against Kafka's
            promises.
        history: the history in krucible's format; indices of witnesses refer to it, and to
            ``Foreign.records``.
        verdict: the verdict; no verdict was expected.
    """

    workload: ForeignWorkload
    model: str | None
    history: History
    verdict: Verdict


def judge_foreign(foreign: Foreign, asked: JudgingOptions | None = None) -> ForeignJudgement:
    """Judge an imported history.

    Raises:
        UnfitError: workload, model and initial value do not fit together.
        HistoryError: the history does not have its workload's shape, or no workload's.
    """
    asked = asked or JudgingOptions()
    workload, model = _meant(foreign, asked)
    _check_declared(workload, asked.declared)
    if workload is ForeignWorkload.KAFKA:
        return _judge_kafka(foreign, asked.initial)
    history = history_of(foreign, workload)
    if workload in TRANSACTIONS:
        checkers = _of_transactions(history, workload, ConsistencyModel(model or STRICTEST), asked)
    else:
        checkers = _of_objects(history, workload, asked.initial)
    reading = _reading(foreign, workload, {})
    verdict = judge_by(history, {**checkers, READING: lambda _: reading})
    held_to = str(model or STRICTEST) if workload in TRANSACTIONS else str(workload)
    return ForeignJudgement(workload, held_to, history, verdict)


def _meant(foreign: Foreign, asked: JudgingOptions) -> tuple[ForeignWorkload, str | None]:
    """The workload, and the consistency model if one was requested."""
    model = asked.model
    requested = model if asked.workload is None and model in MODELS else asked.workload
    workload = workload_of(foreign) if requested is None else _named(requested)
    _check_functions(foreign, workload)
    if model is None or model == workload:
        return workload, None
    if workload is ForeignWorkload.MULTI_REGISTER and model not in MODELS:
        workload = ForeignWorkload.RW_REGISTER
    fitting = list(ConsistencyModel) if workload in TRANSACTIONS else [workload] if workload in MODELS else []
    if model not in fitting:
        raise UnfitError(f"{model} is not a model of {workload}", ", ".join(fitting) or "no model")
    return workload, model


def _check_functions(foreign: Foreign, workload: ForeignWorkload) -> None:
    """Refuse a workload whose checkers would ignore some operations."""
    known = functions_of(workload)
    strange = sorted(foreign.functions - known) if known else []
    if strange:
        raise UnfitError(
            f"{workload} has no operation {', '.join(strange)}", f"a history of {', '.join(sorted(known))}"
        )


def _named(workload: str) -> ForeignWorkload:
    try:
        return ForeignWorkload(workload)
    except ValueError:
        raise UnfitError(f"{workload} is not a workload", f"one of {', '.join(ForeignWorkload)}") from None


def _check_declared(workload: ForeignWorkload, declared: Declared) -> None:
    """Refuse declarations about keys for a workload that does not infer versions."""
    if any(declared) and workload is not ForeignWorkload.RW_REGISTER:
        raise UnfitError(
            f"{workload} has no keys whose order can be declared", str(ForeignWorkload.RW_REGISTER)
        )


def _of_transactions(
    history: History, workload: ForeignWorkload, model: ConsistencyModel, asked: JudgingOptions
) -> Mapping[str, Checker]:
    if workload is ForeignWorkload.LIST_APPEND:
        _refuse_initial(workload, asked.initial)
        return {str(workload): partial(check_list_append, model=model)}
    if isinstance(asked.initial, Mapping):
        _check_names(history, asked.initial)
    check = partial(check_rw_register, model=model, declared=asked.declared, begin=asked.initial)
    return {str(workload): check}


def _of_objects(history: History, workload: ForeignWorkload, initial: object) -> Mapping[str, Checker]:
    if workload in {ForeignWorkload.REGISTER, ForeignWorkload.CAS_REGISTER} and _is_zoned(history, initial):
        return {"registers": partial(check_registers, initial=initial)}
    if workload is ForeignWorkload.MULTI_REGISTER and isinstance(initial, Mapping):
        _check_names(history, initial)
    elif workload is ForeignWorkload.MULTI_REGISTER and initial is not None:
        initial = dict.fromkeys(_names_of(history), initial)
    try:
        model = MODELS[workload](initial)
    except UnreadableError as error:
        raise UnfitError(str(error), f"an initial value of {workload}") from None
    return {"linearizability": partial(check_linearizable, model=model)}


def _names_of(history: History) -> list[object]:
    """Names of all registers that transactions read or write."""
    return [part[1] for o in history.operations for part in o.value or () if len(part) > 1]


def _check_names(history: History, initial: Mapping[object, object]) -> None:
    """Refuse initial values for registers that do not exist, such as "0" if the history's is 0."""
    used = {shown(canonical(name)) for name in _names_of(history)}
    given = [shown(canonical(name)) for name in initial]
    if given and used.isdisjoint(given):
        raise UnfitError(
            f"initial values of {', '.join(given[:_NAMED_MAX])}, which no operation reads or writes",
            f"those of registers such as {', '.join(sorted(used)[:_NAMED_MAX])}",
        )


def _is_zoned(history: History, initial: object) -> bool:
    """Whether zones can decide: values are unique, and no read of null is a read without a result."""
    if not applies(history, initial):
        return False
    blind = (o for o in history.operations if o.f == "read" and o.type is OK and o.value is None)
    return initial is None or next(blind, None) is None


def _refuse_initial(workload: ForeignWorkload, initial: object) -> None:
    if initial is not None:
        raise UnfitError(f"{workload} has no initial value", "none")


def _judge_kafka(foreign: Foreign, initial: object) -> ForeignJudgement:
    _refuse_initial(ForeignWorkload.KAFKA, initial)
    history, transactional, committed, names = kafka_history_of(foreign)
    keys = {f"partition {n}": key for n, key in names.items()}
    more = {"committed_after_all": committed} if committed else {}
    reading = _reading(foreign, ForeignWorkload.KAFKA, more | ({"keys": keys} if keys else {}))
    checkers: dict[str, Checker] = {"log": check_log}
    if transactional:
        checkers["transactions"] = check_transactions
    verdict = judge_by(history, {**checkers, READING: lambda _: reading})
    return ForeignJudgement(ForeignWorkload.KAFKA, None, history, verdict)


def _reading(foreign: Foreign, workload: ForeignWorkload, more: Mapping[str, object]) -> CheckerResult:
    """Assumptions about reading the history; if a part was cut off, the whole verdict is unknown.

    It is also unknown if no transaction committed, as with Elle (``empty-transaction-graph``).  An object on
    which no operation succeeded is linearizable, as with Knossos.
    """
    succeeded = foreign.succeeded
    doubts = list(foreign.damage)
    if workload in TRANSACTIONS and not succeeded:
        doubts.append("no transaction succeeded, so there is nothing to judge")
    return result_of(
        READING,
        [],
        figures={
            "workload": str(workload),
            "operations": len(foreign.calls),
            "succeeded": succeeded,
            "without_completion": sum(call.completed is None for call in foreign.calls),
            "of_the_nemesis": foreign.faults,
            **({"warnings": list(foreign.warnings)} if foreign.warnings else {}),
            **more,
        },
        unknown_because="; ".join(doubts) or None,
    )
