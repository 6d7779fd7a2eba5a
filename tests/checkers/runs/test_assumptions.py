"""The assumptions checker: which runs say anything at all."""

from collections.abc import Callable, Mapping

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.runs.assumptions import check_assumptions
from checkers.verdict.verdict import CheckerResult, Validity

Story = Callable[..., History]

GOOD = {
    "before": "2 send log-0/0 x100 ok",
    "inject": "5 f1 partition c1 ok",
    "during": "6 send log-0/0 x20 info",
    "heal": "10.1 f1 heal ok",
    "after": "12 send log-0/0 x100 ok",
    "done": "20 phase done",
}


def unmet(history: History) -> set[str]:
    result = check_assumptions(history)
    names = {assumption.name for assumption in result.assumptions if not assumption.met}
    assert result.validity is (Validity.UNKNOWN if names else Validity.VALID)
    return names


def run(**changes: str) -> str:
    return "\n".join((GOOD | changes).values())


def test_a_harness_that_something_hit_proves_nothing(story: Story) -> None:
    failed = Operation(
        0, 0, "runner", OperationType.OK, "harness-failure", "the load", {"error": "worker producer-1 died"}
    )
    history = story(run())
    hit = msgspec.structs.replace(history, operations=(*history.operations, failed))
    assert unmet(hit) == {"harness-lasted"}
    (assumption,) = (a for a in check_assumptions(hit).assumptions if not a.met)
    assert assumption.observed == "during the load: worker producer-1 died"


def test_a_good_run_meets_all(story: Story) -> None:
    result = check_assumptions(story(run(), setup={"planned_faults": 1}))
    assert result.validity is Validity.VALID
    assert {assumption.name: assumption.observed for assumption in result.assumptions} == {
        "setup-present": "one, of Kafka 4.3.1",
        "history-undamaged": "all journals are complete",
        "run-complete": "ended in phase done",
        "faults-injected": "1 proven fault",
        "partitions-loaded": "no partitions",
        "partitions-polled": "no consumers",
        "final-readers": "0 of 0",
        "fault-proven": "the only fault",
        "fault-healed": "the only fault",
        "acked-before": "lowest: 100 (f1), of 1 fault",
        "acked-after": "lowest: 100 (f1), of 1 fault",
        "invoked-during": "lowest: 20 (f1), of 1 fault",
        "fault-held": "lowest: 5000 ms (f1), of 1 fault",
    }
    assert {assumption.name: assumption.expected for assumption in result.assumptions[-4:]} == {
        "acked-before": "at least 100 records acknowledged before each fault",
        "acked-after": "at least 100 records acknowledged after the heal of each fault",
        "invoked-during": "at least 20 records whose send began during each fault",
        "fault-held": "each fault in force for at least 5000 ms",
    }


def observed_of(history: History) -> dict[str, tuple[bool, str]]:
    return {one.name: (one.met, one.observed) for one in check_assumptions(history).assumptions}


def test_of_many_faults_those_that_lack_are_named_the_lowest_first(story: Story) -> None:
    lengths_ms = (5100, 300, 6100, 200, 300, 100, 4100, 1100)
    lines = [
        f"{10 * number} f{number} pause c1 ok\n{10 * number + 0.1 + ms / 1000} f{number} heal ok"
        for number, ms in enumerate(lengths_ms, start=1)
    ]
    found = observed_of(story("\n".join(lines)))
    observed = "f6: 100 ms, f4: 200 ms, f2: 300 ms, f5: 300 ms, f8: 1100 ms and 1 more, of 8 faults"
    assert found["fault-held"] == (False, observed)


def test_of_many_faults_the_lowest_is_named_if_none_lacks(story: Story) -> None:
    text = """
    1 send log-0/0 x120 ok
    10 f1 pause c1 ok
    15.2 f1 heal ok
    16 send log-0/0 x30 ok
    20 f2 pause c1 ok
    25.1 f2 heal ok
    """
    found = observed_of(story(text))
    assert found["acked-before"] == (True, "lowest: 120 (f1), of 2 faults")
    assert found["fault-held"] == (True, "lowest: 5000 ms (f2), of 2 faults")
    assert found["acked-after"] == (False, "f2: 0, f1: 30, of 2 faults")
    assert found["fault-healed"] == (True, "all 2 faults")


@pytest.mark.parametrize("verb", ["proven", "healed"])
def test_of_many_faults_that_were_not_confirmed_a_few_are_named(story: Story, verb: str) -> None:
    inject, heal = ("info", "ok") if verb == "proven" else ("ok", "info")
    text = "\n".join(f"{n} f{n} kill c1 {inject}\n{n}.5 f{n} heal {heal}" for n in range(1, 8))
    assert observed_of(story(text))[f"fault-{verb}"] == (False, f"not {verb}: f1, f2, f3, f4, f5 and 2 more")


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        pytest.param({"before": "2 send log-0/0 x99 ok"}, {"acked-before"}, id="too few before"),
        pytest.param({"before": "2 send log-0/0 x100 info"}, {"acked-before"}, id="not acknowledged before"),
        pytest.param({"before": "5 send log-0/0 x100 ok"}, {"acked-before"}, id="not before"),
        pytest.param({"after": "12 send log-0/0 x99 ok"}, {"acked-after"}, id="too few after"),
        pytest.param(
            {"after": "10.1 send log-0/0 x100 ok"}, {"acked-after"}, id="not after the heal's proof"
        ),
        pytest.param({"during": "6 send log-0/0 x19 info"}, {"invoked-during"}, id="too few during"),
        pytest.param({"during": "5.05 send log-0/0 x20 ok"}, {"invoked-during"}, id="before it was proven"),
        pytest.param({"during": "10.2 send log-0/0 x20 lost"}, {"invoked-during"}, id="after healing began"),
        pytest.param({"heal": "10.09 f1 heal ok"}, {"fault-held"}, id="not held long enough"),
        pytest.param(
            {"inject": "5 f1 partition c1 info"},
            {"faults-injected", "fault-proven", "fault-held"},
            id="not proven",
        ),
        pytest.param({"heal": "10.1 f1 heal info"}, {"fault-healed", "acked-after"}, id="heal not proven"),
        pytest.param({"heal": ""}, {"fault-healed", "acked-after", "fault-held"}, id="not healed"),
        pytest.param({"done": "20 phase evidence"}, {"run-complete"}, id="not done"),
        pytest.param({"done": ""}, {"run-complete"}, id="no phases"),
    ],
)
def test_what_is_unmet(story: Story, changes: dict[str, str], names: set[str]) -> None:
    assert unmet(story(run(**changes))) == names


def test_the_worst_fault_counts(story: Story) -> None:
    more = "13 f2 kill c1 ok\n14 f2 heal ok"
    assert unmet(story(run() + "\n" + more)) == {"acked-after", "invoked-during", "fault-held"}


@pytest.mark.parametrize(
    ("planned", "text", "met"),
    [
        pytest.param(0, "", True, id="none was planned"),
        pytest.param(None, "", False, id="none, and nothing shows that none was planned"),
        pytest.param(1, "", False, id="none, though one was planned"),
        pytest.param(1, run(), True, id="as planned"),
        pytest.param(0, run(), True, id="more than planned"),
        pytest.param(2, run(), False, id="fewer than planned"),
        pytest.param(None, run(), True, id="some, and nothing shows how many"),
    ],
)
def test_how_many_faults(story: Story, planned: int | None, text: str, *, met: bool) -> None:
    history = story(text + "\n20 phase done", setup={"planned_faults": planned})
    assert unmet(history) == (set() if met else {"faults-injected"})


def test_a_fault_that_was_not_attempted_is_reported(story: Story) -> None:
    result = check_assumptions(story("1 f1 kill c1 fail\n2 phase done", setup={"planned_faults": 1}))
    (injected,) = (a for a in result.assumptions if a.name == "faults-injected")
    assert injected.observed == "0 proven faults; f1 was not attempted (nobody left)"


def with_spec_of_failed(history: History, spec: object) -> History:
    """The history, its injections that failed recorded with a spec."""
    operations = tuple(
        msgspec.structs.replace(one, value={"kind": "wipe-disk", "spec": spec})
        if one.f == "inject" and one.type is OperationType.FAIL
        else one
        for one in history.operations
    )
    return msgspec.structs.replace(history, operations=operations)


@pytest.mark.parametrize(
    ("planned", "text", "needed", "met"),
    [
        pytest.param(2, run() + "\n6 f2 wipe-disk c2 fail", 1, True, id="the other one is proven"),
        pytest.param(3, run() + "\n6 f2 wipe-disk c2 fail", 2, False, id="and one was never begun"),
        pytest.param(1, "6 f2 wipe-disk c2 fail\n20 phase done", 1, False, id="nothing is proven"),
    ],
)
def test_a_fault_that_was_withheld_is_not_missing(
    story: Story, planned: int, text: str, needed: int, *, met: bool
) -> None:
    history = with_spec_of_failed(story(text, setup={"planned_faults": planned}), {"sparing": True})
    result = check_assumptions(history)
    (injected,) = (a for a in result.assumptions if a.name == "faults-injected")
    assert (injected.met, injected.expected) == (met, f"at least {needed} proven fault{'s' * (needed > 1)}")
    assert "f2 was not attempted" in injected.observed
    assert result.figures["faults_withheld"] == 1


@pytest.mark.parametrize("spec", [{"sparing": False}, {"sparing": 1}, {}, None, "sparing"])
def test_a_fault_that_was_refused_for_another_reason_is_missing(story: Story, spec: object) -> None:
    history = story(run() + "\n6 f2 wipe-disk c2 fail", setup={"planned_faults": 2})
    assert unmet(with_spec_of_failed(history, spec)) == {"faults-injected"}


def test_faults_of_disks_are_counted(story: Story) -> None:
    more = "\n5 f2 wipe-disk c2 ok\n10.2 f2 heal ok\n5 f3 power-loss c3 info\n10.2 f3 heal ok"
    assert check_assumptions(story(run() + more)).figures == {
        "faults": 3,
        "faults_of_disks": 1,
        "faults_withheld": 0,
    }


def test_damage(story: Story) -> None:
    assert unmet(story(run(), damage=("worker-3 is cut short",))) == {"history-undamaged"}


def test_without_a_setup_nothing_can_be_asked(story: Story) -> None:
    assert unmet(story(run(), without_setup=True)) == {"setup-present"}


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        pytest.param("", "without any: log-0/1", id="never"),
        pytest.param("14 send log-0/1 x5 ok", "without any: log-0/1", id="by the write probe alone"),
        pytest.param("4 send log-0/1 x5 info", "without any: log-0/1", id="nothing acknowledged"),
        pytest.param("4 send log-1/1 x5 ok", "without any: log-0/1", id="another topic"),
        pytest.param("4 send log-0/1 x5 ok", "all 2 partitions", id="under load"),
    ],
)
def test_each_partition_must_have_had_traffic(story: Story, text: str, observed: str) -> None:
    topics = [{"name": "log-0", "partitions": 2}]
    result = check_assumptions(story(run(heal_phase="13 phase heal", more=text), setup={"topics": topics}))
    (found,) = (one for one in result.assumptions if one.name == "partitions-loaded")
    assert (found.observed, found.met) == (observed, not observed.startswith("without"))


@pytest.mark.parametrize(
    ("second", "kind", "send", "met"),
    [
        pytest.param(4, OperationType.FAIL, ["send", "log-0", 1, 7, 3], True, id="aborted"),
        pytest.param(4, OperationType.INFO, ["send", "log-0", 1, 7, 3], True, id="without a known end"),
        pytest.param(14, OperationType.FAIL, ["send", "log-0", 1, 7, 3], False, id="after the heal"),
        pytest.param(4, OperationType.INVOKE, ["send", "log-0", 1, 7], False, id="not answered"),
        pytest.param(4, OperationType.FAIL, ["send", "log-0", 1, 7, None], False, id="not acknowledged"),
        pytest.param(4, OperationType.FAIL, ["send", "log-0", 1, 7], False, id="not sent"),
    ],
)
def test_what_a_transaction_appended_is_traffic_even_if_it_was_aborted(
    story: Story, second: int, kind: OperationType, send: list[object], *, met: bool
) -> None:
    topics = [{"name": "log-0", "partitions": 2}]
    history = story(run(heal_phase="13 phase heal"), setup={"topics": topics})
    value = {"client": "c", "end": "commit", "mops": [send]}
    transaction = Operation(0, second * 10**9, 9, kind, "txn", "id", value)
    result = check_assumptions(
        msgspec.structs.replace(history, operations=(*history.operations, transaction))
    )
    assert ("partitions-loaded" not in {one.name for one in result.assumptions if not one.met}) == met


@pytest.mark.parametrize(
    ("consumers", "text", "observed"),
    [
        pytest.param(0, "", "no consumers", id="no consumers"),
        pytest.param(2, "", "without any: log-0/0, log-0/1", id="consumers that never polled"),
        pytest.param(2, "5 poll log-0/0 x3", "without any: log-0/1", id="one of two partitions"),
        pytest.param(2, "5 poll log-0/0 x3\n5 poll log-0/1 x1", "all 2 partitions", id="both"),
    ],
)
def test_consumers_must_have_been_given_something(
    story: Story, consumers: int, text: str, observed: str
) -> None:
    setup = {"topics": [{"name": "log-0", "partitions": 2}], "workload": {"consumers": consumers}}
    result = check_assumptions(story(run(more=text), setup=setup))
    (found,) = (one for one in result.assumptions if one.name == "partitions-polled")
    assert (found.observed, found.met) == (observed, not observed.startswith("without"))


def test_every_planned_reader_must_have_read_at_the_end(story: Story) -> None:
    def observed(text: str) -> tuple[str, bool]:
        history = story(run(), setup={"final_readers": 2})
        reads = tuple(
            Operation(
                9_000 + number, 20 * 10**9, 50 + number, OperationType.INVOKE, "final-read", "log-0", value
            )
            for number, value in enumerate(
                {"client": client, "isolation": "read_committed", "partition": 0} for client in text.split()
            )
        )
        whole = msgspec.structs.replace(history, operations=history.operations + reads)
        (found,) = (one for one in check_assumptions(whole).assumptions if one.name == "final-readers")
        return found.observed, found.met

    assert observed("kafka-python confluent-kafka") == ("2 of 2", True)
    assert observed("kafka-python kafka-python") == ("1 of 2", False)


@pytest.mark.parametrize(
    ("endings", "observed", "met"),
    [
        ((), "it never ended", False),
        (((OperationType.INVOKE, None),), "it never ended", False),
        (((OperationType.INVOKE, None), (OperationType.OK, None)), "as written", True),
        (
            ((OperationType.INVOKE, None), (OperationType.INFO, "EndTxn: timed out")),
            "EndTxn: timed out",
            False,
        ),
    ],
)
def test_every_script_must_have_been_played(
    story: Story,
    endings: tuple[tuple[OperationType, str | None], ...],
    observed: str,
    met: bool,  # noqa: FBT001 - pytest hands parameters over like this
) -> None:
    history = story(run(), setup={"controls": ["delayed"]})
    steps = tuple(
        Operation(9_000 + number, 20 * 10**9, "script", kind, "control", "delayed", error=error)
        for number, (kind, error) in enumerate(endings)
    )
    whole = msgspec.structs.replace(history, operations=history.operations + steps)
    (found,) = (one for one in check_assumptions(whole).assumptions if one.name == "control-played")
    assert (found.observed, found.met) == (observed, met)


@pytest.mark.parametrize(
    ("errors", "observed"),
    [
        ([48, 47], "as written"),
        ([47, 47], "as written"),
        ([48, 19], "the producer's epoch was not old"),
        ([0, 0], "the producer's epoch was not old"),
        (None, "as written"),
    ],
)
def test_a_script_of_an_old_epoch_must_have_met_an_old_epoch(
    story: Story, errors: list[int] | None, observed: str
) -> None:
    history = story(run(), setup={"controls": ["timed-out-producer"]})
    value = {"transaction_version": 1} | ({} if errors is None else {"timed_out_errors": errors})
    step = Operation(9_000, 20 * 10**9, "script", OperationType.OK, "control", "timed-out-producer", value)
    whole = msgspec.structs.replace(history, operations=(*history.operations, step))
    (found,) = (one for one in check_assumptions(whole).assumptions if one.name == "control-played")
    assert (found.observed, found.met) == (observed, observed == "as written")


@pytest.mark.parametrize(
    ("answers", "met"),
    [
        ({"late_commit_error": 48, "newer_by": 1}, True),
        ({"late_commit_error": 90, "newer_by": 1}, True),
        ({"late_commit_error": 47, "newer_by": 2}, True),
        ({"late_commit_error": 48, "newer_by": 0}, False),
        ({"late_commit_error": 90}, False),
        ({"late_commit_error": 16, "newer_by": 1}, False),
        ({"late_commit_error": 0, "newer_by": 1}, False),
    ],
)
def test_a_script_of_a_late_commit_must_have_met_an_old_epoch(
    story: Story, answers: dict[str, int], *, met: bool
) -> None:
    history = story(run(), setup={"controls": ["late-commit"]})
    value = {"transaction_version": 2} | answers
    step = Operation(9_000, 20 * 10**9, "script", OperationType.OK, "control", "late-commit", value)
    whole = msgspec.structs.replace(history, operations=(*history.operations, step))
    (found,) = (one for one in check_assumptions(whole).assumptions if one.name == "control-played")
    assert found.met is met


@pytest.mark.parametrize(("idle", "met"), [(47, True), (90, True), (0, False), (16, False), (51, False)])
def test_a_script_of_an_older_epoch_must_have_been_fenced_without_a_transaction(
    story: Story, idle: int, *, met: bool
) -> None:
    history = story(run(), setup={"controls": ["older-epoch"]})
    value = {"transaction_version": 1, "older_epoch_errors": [idle, 51]}
    step = Operation(9_000, 20 * 10**9, "script", OperationType.OK, "control", "older-epoch", value)
    whole = msgspec.structs.replace(history, operations=(*history.operations, step))
    (found,) = (one for one in check_assumptions(whole).assumptions if one.name == "control-played")
    assert found.met is met


@pytest.mark.parametrize(
    ("ops", "observed"),
    [
        ("await in-sync ok, moves - ok", "all moves as written"),
        ("await in-sync ok", "it never ended"),
        (
            "await in-sync info, moves - info",
            "await in-sync: it was not reached; moves: it was not reached",
        ),
    ],
)
def test_moves_must_all_have_been_made(story: Story, ops: str, observed: str) -> None:
    history = story(run())
    steps = [
        Operation(
            9_000 + 2 * number + half, (20 + number) * 10**9, "moves", kind, f, None if key == "-" else key
        )
        for number, (f, key, end) in enumerate(text.split() for text in ops.split(", "))
        for half, kind in enumerate((OperationType.INVOKE, OperationType(end)))
    ]
    operations = tuple(
        msgspec.structs.replace(step, error="it was not reached") if step.type is OperationType.INFO else step
        for step in steps
    )
    whole = msgspec.structs.replace(history, operations=history.operations + operations)
    (found,) = (one for one in check_assumptions(whole).assumptions if one.name == "script-played")
    assert (found.observed, found.met) == (observed, observed == "all moves as written")


def test_topics_without_load_need_none(story: Story) -> None:
    topics = [{"name": "log-0", "partitions": 1}, {"name": "txn-0", "partitions": 2, "loaded": False}]
    result = check_assumptions(story(run(), setup={"topics": topics, "workload": {"consumers": 1}}))
    observed = {one.name: one.observed for one in result.assumptions}
    assert observed["partitions-loaded"] == "the only partition"
    assert observed["partitions-polled"] == "without any: log-0/0"


def test_writes_to_registers_are_traffic(story: Story) -> None:
    history = story(run(before="", during="", after=""))
    writes = tuple(
        Operation(
            9_000 + 2 * number + half, (second * 1000 + number) * 10**6, 3, kind, "write", "config/a", 5
        )
        for second in (2, 6, 12)
        for number in range(100)
        for half, kind in enumerate((OperationType.INVOKE, OperationType.OK))
    )
    operations = tuple(sorted(history.operations + writes, key=lambda operation: operation.time_ns))
    found = unmet(msgspec.structs.replace(history, operations=operations))
    assert not found & {"acked-before", "acked-after", "invoked-during"}


@pytest.mark.parametrize(
    ("drawn", "target", "refused", "met"),
    [
        pytest.param(True, "voter", "held", True, id="drawn, and its target held"),
        pytest.param(False, "voter", "held", False, id="of a script"),
        pytest.param(True, {"role": "controller", "number": 1}, "held", True, id="at a certain node"),
        pytest.param(False, {"role": "controller", "number": 1}, "held", False, id="of a script, at a node"),
        pytest.param(True, "voter", "dead", False, id="drawn, and its target dead"),
        pytest.param(True, "voter", "withheld", False, id="for another reason"),
        pytest.param(True, "voter", None, False, id="of a history before"),
    ],
)
def test_a_drawn_fault_whose_target_others_held_is_not_missing(
    story: Story, target: object, refused: str | None, *, drawn: bool, met: bool
) -> None:
    setup = {"planned_faults": 2, "drawn_faults": drawn}
    history = story(run() + "\n6 f2 kill n1 fail", setup=setup)
    value = {"kind": "kill", "spec": {"target": target}, **({"refused": refused} if refused else {})}
    assert unmet(with_refusals(history, value)) == (set() if met else {"faults-injected"})


@pytest.mark.parametrize(("planned", "held", "met"), [(2, 1, True), (3, 2, False), (3, 1, False)])
def test_most_of_what_was_drawn_was_tried(story: Story, planned: int, held: int, *, met: bool) -> None:
    text = "".join(f"\n6 f{number} kill n1 fail" for number in range(2, 2 + held))
    setup = {"planned_faults": planned, "drawn_faults": True}
    value = {"kind": "kill", "spec": {"target": "voter"}, "refused": "held"}
    found = unmet(with_refusals(story(run() + text, setup=setup), value))
    assert found == (set() if met else {"faults-injected"})


def with_refusals(history: History, value: Mapping[str, object]) -> History:
    """The history with another value of each fault that was not attempted."""
    operations = (
        msgspec.structs.replace(o, value=value) if o.f == "inject" and o.type == "fail" else o
        for o in history.operations
    )
    return msgspec.structs.replace(history, operations=tuple(operations))


def test_as_many_admin_operations_as_the_scenario_asks_for(story: Story) -> None:
    history = story(run(), setup={"operations_min": {"elect-preferred": 1, "reassign": 2}})
    assert unmet(history) == {"operations-seen"}
    asked = [
        ("elect-leaders", "preferred", {}),
        ("alter-reassignments", None, {"targets": [["t", 0, [1]], ["t", 1, None]]}),
        ("alter-reassignments", None, {"targets": [["t", 0, [2]]]}),
        ("remove-voter", "3", {}),
    ]
    answered = [
        msgspec.structs.replace(
            history.operations[0], process="admin", type=OperationType.OK, f=f, key=key, value=value
        )
        for f, key, value in asked
    ]
    failed = msgspec.structs.replace(answered[1], type=OperationType.FAIL)

    def judged(*more: Operation) -> CheckerResult:
        return check_assumptions(msgspec.structs.replace(history, operations=(*history.operations, *more)))

    result = judged(answered[0], answered[1], failed)
    (found,) = (one for one in result.assumptions if one.name == "operations-seen")
    assert (found.met, found.observed) == (False, "reassign: 1 of 2")
    assert found.expected == "Kafka answered at least: elect-preferred: 1, reassign: 2"
    result = judged(*answered)
    assert result.validity is Validity.VALID
    (found,) = (one for one in result.assumptions if one.name == "operations-seen")
    assert found.observed == "elect-preferred: 1, reassign: 2"
    counted = {"elect-preferred": 1, "reassign": 2, "cancel": 1, "voters": 1}
    assert result.figures["admin_operations"] == counted
