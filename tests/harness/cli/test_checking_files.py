"""``krucible check`` on histories of others: exit codes, what is printed, what is refused."""

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness import cli

VALID = """INFO  jepsen.util - 0\t:invoke\t:write\t1
INFO  jepsen.util - 0\t:ok\t:write\t1
INFO  jepsen.util - 1\t:invoke\t:read\tnil
INFO  jepsen.util - 1\t:ok\t:read\t1
"""
INVALID = VALID.replace(":ok\t:read\t1", ":ok\t:read\t7")
CYCLE = """{:process 0 :type :invoke :f :txn :value [[:append 1 1] [:r 2 nil]]}
{:process 1 :type :invoke :f :txn :value [[:append 2 1] [:r 1 nil]]}
{:process 0 :type :ok :f :txn :value [[:append 1 1] [:r 2 [1]]]}
{:process 1 :type :ok :f :txn :value [[:append 2 1] [:r 1 [1]]]}
"""
SKEW = """{:process 0 :type :invoke :f :txn :value [[:append 1 1] [:r 2 nil]]}
{:process 1 :type :invoke :f :txn :value [[:append 2 1] [:r 1 nil]]}
{:process 0 :type :ok :f :txn :value [[:append 1 1] [:r 2 []]]}
{:process 1 :type :ok :f :txn :value [[:append 2 1] [:r 1 []]]}
{:process 0 :type :invoke :f :txn :value [[:r 1 nil] [:r 2 nil]]}
{:process 0 :type :ok :f :txn :value [[:r 1 [1]] [:r 2 [1]]]}
"""
CUT = '{"process":0,"type":"invoke","f":"read"}\n{"process":0,"type":"ok","f":"re'
BACKWARDS = """{:process 0 :type :invoke :f :txn :value [[:w 1 1]]}
{:process 1 :type :invoke :f :txn :value [[:w 1 2]]}
{:process 2 :type :invoke :f :txn :value [[:r 1 nil]]} {:process 2 :type :ok :f :txn :value [[:r 1 1]]}
{:process 2 :type :invoke :f :txn :value [[:r 1 nil]]} {:process 2 :type :ok :f :txn :value [[:r 1 2]]}
{:process 3 :type :invoke :f :txn :value [[:r 1 nil]]} {:process 3 :type :ok :f :txn :value [[:r 1 2]]}
{:process 3 :type :invoke :f :txn :value [[:r 1 nil]]} {:process 3 :type :ok :f :txn :value [[:r 1 1]]}
{:process 0 :type :ok :f :txn :value [[:w 1 1]]} {:process 1 :type :ok :f :txn :value [[:w 1 2]]}
"""
LATE = """{:process 0 :type :invoke :f :write :value 1 :index 0 :time 0}
{:process 0 :type :ok :f :write :value 1 :index 1 :time 5000000000}
{:process 1 :type :invoke :f :read :index 2 :time 900000000}
{:process 1 :type :ok :f :read :value 1 :index 3 :time 4900000000}
"""
INITIAL = "{:process 0 :type :invoke :f :cas :value [:a :b]} {:process 0 :type :ok :f :cas :value [:a :b]}"
JOURNAL = '{"krucible_history":1,"run":"r","journal":"worker-3","began_at":"2026-11-20T21:56:57Z"}\n'


@pytest.fixture(autouse=True)
def in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))


def written(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


@pytest.mark.parametrize(
    ("content", "words", "code", "expected"),
    [
        (VALID, [], 0, "VALID"),
        (INVALID, [], 1, "INVALID"),
        (gzip.compress(INVALID.encode(), mtime=0), [], 1, "phantom"),
        (CYCLE, [], 1, "G1c"),
        (SKEW, [], 1, "G2-item"),
        (SKEW, ["--model", "snapshot-isolation"], 0, "held to snapshot-isolation"),
        (CUT, [], 2, "cut short"),
        (BACKWARDS, ["--model", "snapshot-isolation"], 0, "VALID"),
        (BACKWARDS, ["--model", "snapshot-isolation", "--sequential-keys"], 1, "cyclic-versions"),
        (BACKWARDS, ["--model", "snapshot-isolation", "--linearizable-keys"], 1, "G0"),
        (BACKWARDS, ["--model", "snapshot-isolation", "--wfr-keys"], 0, "VALID"),
        (LATE, [], 0, "warning    1 operations are recorded more than 1 s behind later ones"),
        (INITIAL, ["--initial", ":a"], 0, "VALID"),
        (INITIAL, ["--initial", '"a"'], 0, "VALID"),
        (INITIAL, ["--initial", "0"], 1, "can't cas"),
        (INITIAL, ["--initial", "0\n"], 1, "can't cas"),
        (INITIAL, ["--initial", "{:a\n0}"], 1, "can't cas"),
        (VALID[: VALID.index("\n") + 1], [], 0, "1 operations, none of which succeeded"),
        (VALID, ["--workload", "cas-register"], 0, "cas-register, 2 operations"),
        (VALID, ["--model", "register"], 0, "register, 2 operations"),
    ],
)
def test_a_file_is_judged(
    content: str | bytes, words: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["check", written("history.edn", content), *words]) == code
    captured = capsys.readouterr()
    assert expected in captured.out
    assert captured.err == ""


def test_an_anomaly_is_reported_with_its_proof_and_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["check", written("h", CYCLE)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any("However, T" in line for line in lines)
    assert "  lines:   1, 2, 3, 4" in lines
    assert len(lines) < 40


def test_a_long_proof_is_cut_in_the_middle(capsys: pytest.CaptureFixture[str]) -> None:
    writes = "".join(
        f"INFO jepsen.util - {n} :invoke :write {n % 2}\nINFO jepsen.util - {n} :ok :write {n % 2}\n"
        for n in range(60)
    )
    reads = "INFO jepsen.util - 70 :invoke :read nil\nINFO jepsen.util - 70 :ok :read 0\n"
    assert cli.invoke(["check", written("h", writes + reads + reads)]) == 1
    output = capsys.readouterr().out
    assert len(output.splitlines()) < 40


def test_json_has_the_verdict_and_stable_ids(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["check", written("h", CYCLE), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["workload"], verdict["model"], verdict["validity"]) == (
        "list-append",
        "strict-serializable",
        "invalid",
    )
    (anomaly,) = (a for result in verdict["results"] for a in result.get("anomalies", ()))
    assert anomaly["id"].startswith("G1c")
    assert anomaly["explanation"]


def test_proofs_and_drawings_are_written_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["check", written("h", CYCLE), "--out", "there/deep"]) == 1
    assert "2 files in" in capsys.readouterr().err
    texts = {path.suffix: path.read_text() for path in Path("there/deep").iterdir()}
    assert "However" in texts[".txt"]
    assert texts[".svg"].startswith("<svg")


def test_standard_input_is_a_file_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written("h", gzip.compress(INVALID.encode()))
    with (tmp_path / "h").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert cli.invoke(["check", "-"]) == 1
    assert "standard input: register, 2 operations" in capsys.readouterr().out


def test_standard_input_may_be_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert cli.invoke(["check", "-"]) == 64
    assert "standard input is closed" in capsys.readouterr().err


def test_a_pipe_is_a_file_too(capsys: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.write(write, INVALID.encode())
    os.close(write)
    try:
        assert cli.invoke(["check", f"/dev/fd/{read}"]) == 1
    finally:
        os.close(read)
    assert "phantom" in capsys.readouterr().out


def test_a_journal_of_our_own_is_judged_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    send = '{"index":0,"time_ns":1,"process":3,"type":"invoke","f":"send","key":"log-0","value":[[2,5]]}\n'
    file = written("history-worker-3.jsonl", JOURNAL + send)
    assert cli.invoke(["check", file]) == 2
    assert "a journal of krucible's own, 1 operations" in capsys.readouterr().out
    assert cli.invoke(["check", file, "--model", "register"]) == 64
    assert cli.invoke(["check", written("h.gz", gzip.compress((JOURNAL + send).encode()))]) == 64
    assert "give the folder of the run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words", "code", "expected"),
    [
        ("{:a", [], 64, "got:      the text ends before { is closed"),
        ("{:a", [], 64, "where:    h, line 1, column 1\n"),
        ("", [], 64, "the file is empty"),
        ("junk\n", [], 64, "no operation of a client"),
        (b"\x80\xff", [], 64, "expected: a history as text in UTF-8"),
        (gzip.compress(VALID.encode(), mtime=0)[:-5], [], 64, "cut short or damaged"),
        ("[" * 5000, [], 64, "nested deeper than 200"),
        ("{:process 0 :type :ok :f :read}", [], 64, "completes read without an invocation"),
        ("{:process 0 :type :invoke :f :jump}", [], 64, "no workload has the operations jump"),
        (VALID, ["--model", "serializable"], 64, "serializable is not a model of register"),
        (VALID, ["--model", "nonsense"], 64, "nonsense"),
        (VALID, ["--workload", "nonsense"], 64, "nonsense"),
        (VALID, ["--wfr-keys"], 64, "register has no keys whose order can be declared"),
        (VALID, ["--initial", "[1"], 64, "the initial value can't be read"),
        (VALID, ["--initial", "1 2"], 64, "the initial value can't be read"),
        (VALID, ["--initial", '{"a":' * 5000], 64, "the initial value can't be read"),
        (VALID, ["--initial", "9" * 30], 64, "the initial value can't be read"),
        (VALID, ["--initial", ""], 64, "got:      ''"),
        (VALID, ["--model", "mutex"], 64, "expected: a history of acquire, release"),
        (SKEW, ["--model", "register"], 64, "a history of read, write"),
        (VALID, ["--model", "serializable"], 64, "expected: register"),
    ],
)
def test_what_is_wrong_is_reported(
    content: str | bytes, words: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["check", written("h", content), *words]) == code
    stderr = capsys.readouterr().err
    assert expected in stderr
    assert "defect" not in stderr
    assert "next:" in stderr or "Try 'krucible check --help'" in stderr


def test_a_file_that_may_not_be_read_is_a_wrong_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written("h", VALID)

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert cli.invoke(["check", "h"]) == 64
    stderr = capsys.readouterr().err
    assert "this file can't be opened\n  got:      Permission denied\n" in stderr
    assert "get permission to read it" in stderr


def test_a_damaged_journal_is_a_failure_as_in_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["check", written("history-worker-3.jsonl", JOURNAL + "junk\n{}\n")]) == 3
    assert "history-worker-3.jsonl, line 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "register"],
        ["x/20261120T215657Z-8", "--out", "x"],
        ["x", "--initial", "0"],
        ["x", "--wfr-keys"],
    ],
)
def test_options_of_files_do_not_go_with_runs(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs/x/20261120T215657Z-8").mkdir(parents=True)
    assert cli.invoke(["check", *words]) == 64
    assert "only for a history of another harness" in capsys.readouterr().err


def labelled(**labels: Any) -> list[str]:
    written("good.log", VALID)
    written("bad.log", INVALID)
    written("torn.log", "{:a")
    names = {name.replace("_", "."): label for name, label in labels.items()}
    return ["check", ".", "--labels", written("labels.json", json.dumps(names))]


def test_verdicts_that_agree(capsys: pytest.CaptureFixture[str]) -> None:
    model = {"model": "cas-register", "initial": None}
    words = labelled(
        good_log={**model, "linearizable": True}, bad_log={**model, "valid": False}, h={"note": "x"}
    )
    written("h", SKEW)
    assert cli.invoke(words) == 0
    output = capsys.readouterr().out
    assert "2 of 2 agree; 1 have no label" in output
    assert "no label" in output


def test_verdicts_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    words = labelled(
        good_log={"linearizable": False},
        bad_log={"linearizable": False},
        torn_log={},
        gone_log={},
        odd_log={"model": "odd"},
    )
    written("odd.log", VALID)
    assert cli.invoke([*words, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["agree"], found["disagree"], found["without_label"]) == (1, 4, 0)
    rows = {row["file"]: row for row in found["files"]}
    assert (rows["good.log"]["expected"], rows["good.log"]["found"]) == ("invalid", "valid")
    assert rows["bad.log"]["anomalies"] == {"phantom": 1}
    assert "before { is closed" in rows["torn.log"]["problem"]
    assert "No such file" in rows["gone.log"]["problem"]
    assert rows["odd.log"]["problem"].startswith(
        "workload, model and initial value do not fit; got: odd is not a model of register; "
        "expected: register"
    )

    assert cli.invoke(words) == 1
    output = capsys.readouterr().out
    assert "1 of 5 agree" in output
    assert "NO" in output


@pytest.mark.parametrize(
    "labels", ["[]", "{", "{}", '{"a":{"linearisable":true}}', '{"a":1}', "\x00", '{"a":' + "[" * 5000]
)
def test_labels_that_are_none_are_refused(labels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["check", ".", "--labels", written("labels.json", labels)]) == 64
    assert "labels" in capsys.readouterr().err


def test_labels_go_with_a_folder_and_say_the_rest_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    words = labelled(good_log={"linearizable": True})
    assert cli.invoke([*words, "--model", "register"]) == 64
    assert cli.invoke(["check", "good.log", *words[2:]]) == 64
    assert cli.invoke(["check", "latest", *words[2:]]) == 64
    assert cli.invoke(["check", ".", "--labels", "nowhere"]) == 64
    assert "--labels needs the folder of the histories" in capsys.readouterr().err
