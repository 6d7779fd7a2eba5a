"""What hosts are asked and report, and the process of a run on a host: all of it but Spark and clusters."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from checkers.history.identity import IDENTITY_FILE
from checkers.verdict.verdict import Validity
from harness.campaigns.hosting import tasks
from harness.campaigns.hosting.hand_over import clear, hand_over
from harness.campaigns.hosting.host_checks import HostChecks, Question, file_system_of, look
from harness.campaigns.hosting.identity import host_name, krucible_digest, machine
from harness.campaigns.hosting.orders import Begun, Order, Report, ReportFolder, Site, decode, encode
from harness.campaigns.hosting.slots import slot
from harness.campaigns.hosting.table import ListedHost, able, hosts_text
from harness.errors import EngineError, KrucibleError
from harness.host.doctor import Check, CheckState
from harness.plan.planning import RequestedImage, RunOptions
from results.store.runs import LATEST, VERDICT_FILE, list_runs, load_verdict, run_folders
from tests.harness.recorded_run import a_verdict, planned, store_run
from tests.harness.waiting import wait_until

SCENARIO = "smoke/partition"
HOLDER = """
import sys
from harness.campaigns.hosting.slots import slot
with slot([1], lambda: False) as held:
    print(held, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _an_engine_of_this_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody answers there; and nobody else has its slots."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")


@contextmanager
def slot_held_elsewhere() -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "1\n"
        yield holder


def order_of(store: Path, scratch: Path, slots: int = 1, **more: object) -> Order:
    desk = ReportFolder.opened(store)
    options = RunOptions(scenario=SCENARIO, seed=7, kafka_version="4.3.1")
    machines = (machine(),) if "machines" not in more else more["machines"]
    return Order(1, options, desk.place, Site(store.resolve(), scratch, slots), machines)  # type: ignore[arg-type]


def a_run(place: Path, name: str = "20261122T010000Z-7") -> Path:
    return store_run(place / SCENARIO / name, planned(SCENARIO), a_verdict(Validity.VALID), [])


def test_a_slot_is_free_once_the_process_that_had_it_is_gone() -> None:
    with slot_held_elsewhere() as holder:
        asked = threading.Event()

        def once_asked() -> bool:
            before = asked.is_set()
            asked.set()
            return before

        with slot([1], once_asked) as held:
            assert held is None
        with slot([1, 2], lambda: False) as held:
            assert held == 2
        holder.kill()
        holder.wait()
        with slot([1, 2], lambda: False) as held:
            assert held == 1


def test_engines_of_a_host_have_slots_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with slot_held_elsewhere():
        monkeypatch.setenv("DOCKER_HOST", "unix:///another/engine.sock")
        with slot([1], lambda: False) as held:
            assert held == 1


def test_a_run_is_moved_to_the_store_whole(tmp_path: Path) -> None:
    scratch, store = tmp_path / "scratch", tmp_path / "store"
    first, second = a_run(scratch), a_run(store)
    (first / "nodes").mkdir()
    (first / "nodes" / "link").symlink_to("nowhere")
    placed = hand_over(first, scratch, store)
    assert placed == second.with_name(f"{second.name}-2")
    assert (placed / "nodes" / "link").is_symlink()
    assert not first.exists()
    assert [run.seed for run in list_runs(store)] == [7, 7]
    assert (store / LATEST).resolve() == (store / SCENARIO / LATEST).resolve() == placed


def test_what_was_copied_before_a_process_was_killed_is_no_run(tmp_path: Path) -> None:
    scratch, store = tmp_path / "scratch", tmp_path / "store"
    hand_over(a_run(scratch), scratch, store)
    placed = (store / SCENARIO / LATEST).resolve()
    half = placed.rename(placed.with_name(".arriving-elsewhere"))
    assert (half / IDENTITY_FILE).exists()
    assert list_runs(store) == ()


def test_the_first_report_of_a_run_counts(tmp_path: Path) -> None:
    desk = ReportFolder.opened(tmp_path)
    assert desk.report(1) is None
    assert desk.end(1, Report("a", "smoke/partition/x"))
    assert not desk.end(1, Report("b", "smoke/partition/y"))
    assert desk.report(1) == Report("a", "smoke/partition/x")
    assert desk.report(2) is None
    for at in ("2026-11-22T01:01:00", "2026-11-22T01:00:00"):
        desk.begin(1, Begun("a", "/x", at))
    assert [note.began_at[-5:] for note in desk.begun(1)] == ["00:00", "01:00"]
    assert not desk.stopped
    desk.stop()
    assert ReportFolder(desk.place).stopped


def test_a_run_that_fails_on_its_host_is_reported_and_holds_no_slot(tmp_path: Path) -> None:
    order = order_of(tmp_path / "store", tmp_path / "scratch")
    report = decode(tasks.carry_out(encode(order)), Report)
    assert report.host == host_name()
    assert "engine" in report.failure
    assert not report.interrupted
    assert ReportFolder(order.place).report(1) == report
    with slot([1], lambda: False) as held:
        assert held == 1


def test_what_has_come_to_its_end_is_not_done_again(tmp_path: Path) -> None:
    order = order_of(tmp_path / "store", tmp_path / "scratch")
    ended = Report("another-host", "smoke/partition/x", "VALID")
    ReportFolder(order.place).end(1, ended)
    assert decode(tasks.carry_out(encode(order)), Report) == ended
    assert not ReportFolder(order.place).log(1).exists()


def test_a_host_that_was_not_looked_at_does_nothing(tmp_path: Path) -> None:
    order = order_of(tmp_path / "store", tmp_path / "scratch", machines=("another",))
    assert "lacks what runs need" in decode(tasks.carry_out(encode(order)), Report).failure


def test_a_run_that_waits_for_its_slot_ends_when_all_are_to(tmp_path: Path) -> None:
    order = order_of(tmp_path / "store", tmp_path / "scratch")
    answers: list[bytes] = []
    with slot_held_elsewhere():
        waiting = threading.Thread(target=lambda: answers.append(tasks.carry_out(encode(order))))
        waiting.start()
        wait_until(ReportFolder(order.place).log(1).exists)
        ReportFolder(order.place).stop()
        waiting.join()
    assert decode(answers[0], Report) == Report(host_name(), interrupted=True)
    assert ReportFolder(order.place).report(1) is None


def child(order: Order) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.campaigns.hosting.child"], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(encode(order) + b"\n")
    process.stdin.flush()
    return process


def test_a_run_whose_executor_is_gone_ends_by_itself_and_reports_nothing(tmp_path: Path) -> None:
    order = order_of(tmp_path / "store", tmp_path / "scratch")
    with slot_held_elsewhere(), child(order) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
    assert ReportFolder(order.place).report(1) is None


def test_a_process_that_is_killed_is_reported_as_a_failure(tmp_path: Path) -> None:
    order = order_of(tmp_path / "store", tmp_path / "scratch")
    answers: list[bytes] = []
    with slot_held_elsewhere():
        waiting = threading.Thread(target=lambda: answers.append(tasks.carry_out(encode(order))))
        waiting.start()
        os.kill(wait_until(lambda: below_this_process(b"harness.campaigns.hosting.child")), signal.SIGKILL)
        waiting.join()
    assert "its process ended with -9" in decode(answers[0], Report).failure


def test_a_process_that_ends_before_it_has_its_order_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order is larger than a pipe holds, so that writing it always meets the end of the process."""
    ends_at_once = shutil.which("false")
    assert ends_at_once is not None
    monkeypatch.setattr(sys, "executable", ends_at_once)
    machines = (machine(), "m" * 1_000_000)
    order = order_of(tmp_path / "store", tmp_path / "scratch", machines=machines)
    report = decode(tasks.carry_out(encode(order)), Report)
    assert "its process ended with 1" in report.failure


def test_a_run_whose_process_dies_on_its_host_is_judged_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process has begun a run and noted it, and dies; the engine has nothing of it."""
    order = order_of(tmp_path / "store", tmp_path / "scratch")
    desk = ReportFolder(order.place)

    def die(_data: bytes, _desk: ReportFolder, _number: int) -> int:
        begun = a_run(order.site.scratch_of(1))
        (begun / VERDICT_FILE).unlink()
        desk.begin(1, Begun(host_name(), str(begun), "2026-11-22T01:00:00"))
        desk.log(1).write_text(
            "   1.0 s  load\npython: rdbuf.c:1115: Assertion failed.\nFatal Python error: Aborted\n"
        )
        return -signal.SIGABRT

    def healed(site: Site, slot: int, _say: object) -> list[Path]:
        scratch = site.scratch_of(slot)
        return [hand_over(folder, scratch, site.store) for folder in list(run_folders(scratch))]

    monkeypatch.setattr(tasks, "_in_process", die)
    monkeypatch.setattr(tasks, "clear", healed)
    report = decode(tasks.carry_out(encode(order)), Report)
    assert (report.failure, report.interrupted) == ("", False)
    folder = order.site.store / report.folder
    assert load_verdict(folder).validity is Validity.UNKNOWN
    assert "ended by SIGABRT" in report.text
    assert "rdbuf.c:1115" in report.text
    assert "UNKNOWN" in desk.log(1).read_text()
    assert desk.report(1) == report

    def unjudged(_folder: Path, how: str, _log: object) -> NoReturn:
        raise KrucibleError("not judged", got=how)

    again = order_of(tmp_path / "again", tmp_path / "scratch")
    order, desk = again, ReportFolder(again.place)
    monkeypatch.setattr(tasks, "judge_left", unjudged)
    assert "not judged" in decode(tasks.carry_out(encode(again)), Report).failure


def below_this_process(words: bytes) -> int | None:
    """The child process with these words in its command."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and words in (path / "cmdline").read_bytes():
                return int(path.name)
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
    return None


def test_clearing_reports_what_it_can_not_do(tmp_path: Path) -> None:
    site = Site(tmp_path / "store", tmp_path / "scratch", 1)
    asked = encode(tasks.Clearing(site, 0.0))
    assert b"engine" in tasks.clear_slots(asked)
    with slot_held_elsewhere():
        assert b"still under way" in tasks.clear_slots(asked)
    with pytest.raises(EngineError):
        clear(site, 1)


def question(place: Path, proof: str, scratch: Path, digest: str = "") -> bytes:
    images = (RequestedImage("4.3.1", "auto", ""),)
    return encode(Question(digest or krucible_digest(), "0123", place, proof, scratch, images))


def lacking(data: bytes) -> dict[str, str]:
    return {check.name: check.found for check in decode(look(data), HostChecks).lacks}


def test_a_host_reports_what_it_lacks(tmp_path: Path) -> None:
    desk = ReportFolder.opened(tmp_path / "store")
    found = decode(look(question(desk.place, desk.proof, tmp_path / "scratch")), HostChecks)
    assert (found.name, found.machine) == (host_name(), machine())
    assert (desk.place / found.mark).exists()
    assert {check.name for check in found.checks if check.state is CheckState.OK} >= {
        "krucible",
        "store",
        "scratch",
    }
    assert [check.name for check in found.lacks] == ["engine"]

    assert "differ" in lacking(question(desk.place, desk.proof, tmp_path / "scratch", "x"))["krucible"]
    assert "another folder" in lacking(question(desk.place, "x", tmp_path / "scratch"))["store"]
    assert "No such file" in lacking(question(tmp_path / "no", desk.proof, tmp_path / "scratch"))["store"]
    file = tmp_path / "file"
    file.touch()
    assert "Not a directory" in lacking(question(desk.place, desk.proof, file / "scratch"))["scratch"]


def test_a_disk_over_the_network_is_known_by_its_kind(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
        f"30 22 0:40 / {tmp_path} rw shared:1 - nfs4 server:/home rw\n"
        f"31 22 0:41 / {tmp_path}/a\\040disk rw - xfs /dev/vdb rw\n"
    )
    assert file_system_of(tmp_path / "runs", mounts) == "nfs4"
    assert file_system_of(tmp_path / "a disk" / "runs", mounts) == "xfs"
    assert file_system_of(Path("/elsewhere"), mounts) == "ext4"
    assert file_system_of(Path("/elsewhere"), tmp_path / "none") == ""


def a_host(name: str, of: str, *lacks: str) -> ListedHost:
    missing = tuple(Check(lack, CheckState.MISSING, "not\nthere", "install it") for lack in lacks)
    return ListedHost(
        name, HostChecks(name, of, Path("/s"), (Check("memory", CheckState.OK, "2 GiB"), *missing))
    )


def test_a_machine_counts_once_and_every_lack_has_a_line() -> None:
    found = [a_host("a", "m1"), a_host("b", "m1"), a_host("long", "m2", "engine", "store"), a_host("d", "m3")]
    assert [host.name for host in able(found)] == ["a", "d"]
    assert hosts_text(found).splitlines() == [
        "hosts      2 of 4 hosts can do runs",
        "  a     ready  memory: 2 GiB",
        "  b     same   the machine of another host here",
        "  long  lacks  engine: not there; fix: install it",
        "  long  lacks  store: not there; fix: install it",
        "  d     ready  memory: 2 GiB",
    ]
