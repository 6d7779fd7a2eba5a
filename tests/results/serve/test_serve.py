"""The browser over HTTP: what it answers, and what nobody gets out of it."""

import gzip
import http.client
import io
import json
import os
import re
import socket
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import encode_identity
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.serve import Browser, listing, open_browser
from results.serve import archive as archives
from results.serve.archive import write_archive
from results.serve.routes import StoreSite
from results.serve.store_files import open_file
from results.store.runs import VERDICT_FILE, RunSummary, save_verdict, summarise_folder
from tests.results.report.test_report import HOSTILE, Outline
from tests.results.stores import VALID, broken, put_run
from tests.results.story import IDENTITY

RUN = "/runs/smoke/partition/20261120T100000Z-1"
ELSEWHERE = "nobody's business"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    above = tmp_path_factory.mktemp("above")
    (above / "secret.txt").write_text(ELSEWHERE)
    root = above / "runs"
    folder = put_run(root, "20261120T100000Z-1", broken(), faults=("kill", "partition"))
    (folder / "report.html").write_text("<!doctype html><script>document.title = 'ran'</script>")
    (folder / "nodes/n1").mkdir(parents=True)
    (folder / "nodes/n1/server.log").write_text("<script>alert(1)</script>\n" * 1_000)
    (folder / "nodes/n1/heap.bin").write_bytes(os.urandom(300_000))
    (folder / "nodes/outside.txt").symlink_to(above / "secret.txt")
    (folder / "nodes/above").symlink_to(above)
    (folder / "nodes/itself").symlink_to(folder)
    os.mkfifo(folder / "nodes/pipe.log")
    (folder / "odd \udce4 <b>%2e%2e.txt").write_text("odd")
    put_run(root, "20261121T100000Z-2", scenario="kips/grow")
    (root / "latest").symlink_to("kips/grow/20261121T100000Z-2")
    (root / "smoke/loose.txt").write_text(ELSEWHERE)
    return root


@pytest.fixture(scope="module")
def browser(root: Path) -> Iterator[Browser]:
    with open_browser(root, 0) as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def ask(
    browser: Browser, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", browser.server_address[1], timeout=60)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def raw(browser: Browser, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", browser.server_address[1]), timeout=60) as wire:
        wire.sendall(request)
        received = b""
        while piece := wire.recv(65536):
            received += piece
    return received


def test_only_this_host_is_listened_to(browser: Browser) -> None:
    assert browser.socket.getsockname()[0] == "127.0.0.1"
    assert browser.url == f"http://127.0.0.1:{browser.server_address[1]}/"


def test_the_table_lists_every_run(browser: Browser) -> None:
    answer, body = ask(browser, "/")
    page = Outline(body.decode())
    assert answer.status == 200
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a" and attrs.get("class") == "run"]
    assert links == ["/runs/kips/grow/20261121T100000Z-2", RUN]
    for text in (
        "2 runs",
        "smoke/partition",
        "invalid",
        "unexpected",
        "lost-write",
        "kill",
        "2026-11-20 10:00:00",
    ):
        assert text in page.text
    assert (page.of_class("anomaly-illegal"), page.of_class("anomaly-legal")) == (1, 1)
    assert page.of_class("cause") == 1
    for text in ("log: 1 lost-write", "1 offsets-reused"):
        assert text in page.text
    assert page.text.count("latest") == 1


def test_a_run_is_found_by_its_short_name(browser: Browser) -> None:
    for name, place in (("1", RUN), ("20261120T10", RUN), ("2", "/runs/kips/grow/20261121T100000Z-2")):
        answer, _ = ask(browser, f"/runs/{name}")
        assert (answer.status, answer.headers["Location"]) == (302, place)
    for name in ("3", "2026112", "20261120T10/run.json", "%0d%0aX:%20y"):
        assert ask(browser, f"/runs/{name}")[0].status == 404
    _, body = ask(browser, RUN)
    assert "<code><bdi>1</bdi></code>" in body.decode()


def test_a_name_that_is_not_the_seed_stands_below_the_time(tmp_path: Path) -> None:
    for name in ("20261120T100000Z-7", "20261121T100000Z-7", "20261121T100000Z-8"):
        put_run(tmp_path, name)
    page = Outline(StoreSite(tmp_path).answer("/").body.decode())
    assert "20261120T" in page.text
    assert "20261121T100000Z-7" in page.text
    assert "20261121T100000Z-8" not in page.text


def test_a_signature_that_no_earlier_run_has_is_flagged(tmp_path: Path) -> None:
    for number, verdict in enumerate((VALID, broken("a<b>"), broken("a<b>"), VALID), start=1):
        put_run(tmp_path, f"20261120T1{number}0000Z-{number}", verdict)
    page = Outline(StoreSite(tmp_path).answer("/").body.decode())
    flagged = [attrs.get("title") for tag, attrs in page.tags if tag == "em" and attrs.get("class") == "new"]
    assert [title for title in flagged if title] == ["No earlier run of this store has: log/a<b>: s"]
    chosen = Outline(StoreSite(tmp_path).answer("/?text=seed-3").body.decode())
    assert not any("title" in attrs for tag, attrs in chosen.tags if tag == "em")


def test_a_filtered_view_is_an_address(browser: Browser) -> None:
    _, body = ask(browser, "/?verdict=invalid&anomaly=lost-write&text=partition")
    page = Outline(body.decode())
    assert "1 of 2 runs" in page.text
    chosen = [attrs["value"] for tag, attrs in page.tags if tag == "option" and "selected" in attrs]
    assert chosen == ["invalid", "lost-write"]
    sorting = [
        str(attrs["href"]) for tag, attrs in page.tags if tag == "a" and "sort=" in str(attrs.get("href"))
    ]
    assert len(sorting) == 8
    assert all("verdict=invalid" in href for href in sorting)
    _, nothing = ask(browser, "/?version=0.0")
    assert "No run matches." in Outline(nothing.decode()).text


def test_a_replay_says_that_it_is_one(tmp_path: Path) -> None:
    put_run(tmp_path, "20261120T100000Z-1")
    put_run(tmp_path, "20261120T110000Z-2", broken(), replay_of="aB3x")
    site = StoreSite(tmp_path)
    for target in ("/", "/runs/smoke/partition/20261120T110000Z-2"):
        assert Outline(site.answer(target).body.decode()).text.count("replay of run aB3x") == 1
    assert "replay of run" not in site.answer("/runs/smoke/partition/20261120T100000Z-1").body.decode()
    runs = json.loads(site.answer("/api/runs.json").body)["runs"]
    assert [run["replay_of"] for run in runs] == ["aB3x", ""]
    trends = Outline(site.answer("/trends").body.decode()).text
    assert "Other figures do not count replays" in trends
    assert "1 invalid" not in trends


def test_runs_as_json(browser: Browser) -> None:
    answer, body = ask(browser, "/api/runs.json?verdict=invalid")
    (run,) = json.loads(body)["runs"]
    assert answer.headers["Content-Type"] == "application/json"
    assert (run["href"], run["verdict"], run["as_expected"], run["seed"]) == (RUN, "invalid", False, 1)
    assert run["anomalies"] == {"lost-write": 1, "offsets-reused": 1}
    assert (run["name"], run["causes"]) == ("1", ["log: 1 lost-write"])
    assert (run["illegal"], run["faults"]) == (["lost-write"], {"kill": 1, "partition": 1})


def test_a_runs_page_has_its_report_and_its_files(browser: Browser) -> None:
    _, body = ask(browser, RUN)
    page = Outline(body.decode())
    (frame,) = [attrs for tag, attrs in page.tags if tag == "iframe"]
    assert (frame["src"], frame["sandbox"]) == (f"{RUN}/report.html", "allow-scripts")
    for text in ("nodes/n1/server.log", "25.4 KiB", "nodes/n1/heap.bin", "7 files", "Download .tar.gz"):
        assert text in page.text
    for hidden in ("outside.txt", "above", "itself", "pipe.log"):
        assert f"nodes/{hidden}" not in page.text
    links = [
        str(attrs["href"]) for tag, attrs in page.tags if tag == "a" and str(attrs["href"]).startswith(RUN)
    ]
    assert len(links) == 2 * 7 + 1
    assert {ask(browser, link)[0].status for link in set(links)} == {200}


def test_trends_are_drawn(browser: Browser) -> None:
    answer, body = ask(browser, "/trends?scenario=smoke/partition")
    page = Outline(body.decode())
    assert answer.status == 200
    assert page.of_class("day") == page.of_class("cross") == 1
    assert "no schedule ran twice" in page.text
    assert "No run matches." in Outline(ask(browser, "/trends?scenario=none")[1].decode()).text


def test_files_come_as_they_are_and_never_as_pages(browser: Browser, root: Path) -> None:
    answer, body = ask(browser, f"{RUN}/nodes/n1/server.log")
    assert body == (root / "smoke/partition/20261120T100000Z-1/nodes/n1/server.log").read_bytes()
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    answer, body = ask(browser, f"{RUN}/nodes/n1/heap.bin")
    assert len(body) == int(answer.headers["Content-Length"]) == 300_000
    assert answer.headers["Content-Disposition"] == 'attachment; filename="heap.bin"'


def test_a_report_runs_in_a_sandbox_without_any_network(browser: Browser) -> None:
    answer, body = ask(browser, f"{RUN}/report.html")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert b"<script>" in body


@pytest.mark.parametrize(
    "path", ["/", "/trends", RUN, f"{RUN}/run.json", "/static/serve.js", "/nothing", "/api/runs.json"]
)
def test_every_answer_is_guarded(browser: Browser, path: str) -> None:
    answer, _ = ask(browser, path)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        f"{RUN}/../../../secret.txt",
        f"{RUN}/%2e%2e/%2e%2e/%2e%2e/secret.txt",
        f"{RUN}/..%2f..%2f..%2fsecret.txt",
        f"{RUN}/%252e%252e/secret.txt",
        f"{RUN}/nodes/..%5c..%5csecret.txt",
        f"{RUN}/nodes/outside.txt",
        f"{RUN}/nodes/above/secret.txt",
        f"{RUN}/nodes/itself/run.json",
        f"{RUN}/nodes/pipe.log",
        f"{RUN}/nodes",
        f"{RUN}/run.json/x",
        f"{RUN}/run.json%00.txt",
        f"{RUN}//run.json",
        f"{RUN}/./run.json",
        f"{RUN}/{'a/' * 50}x",
        f"{RUN}/{'a' * 5000}",
        "/runs/..%2fsecret.txt",
        "/runs//etc/passwd",
        "/runs/%2fetc%2fpasswd",
        "/runs/smoke/loose.txt",
        "/runs/smoke",
        "/runs/",
        "/runs",
        "/static/../pages.py",
        "/static/..%2fpages.py",
        "/static/runs.html.j2",
        f"/archives/{RUN[6:]}",
        f"/archives/{RUN[6:]}/nodes.tar.gz",
        "/archives/smoke.tar.gz",
        "/archives/..%2f.tar.gz",
        "//127.0.0.1/",
        "/favicon.ico",
    ],
)  # fmt: skip
def test_nothing_leaves_the_store(browser: Browser, path: str) -> None:
    answer, body = ask(browser, path)
    assert answer.status == 404
    assert ELSEWHERE.encode() not in body
    assert b"root:" not in body


@pytest.mark.parametrize(
    "target", [b"http://127.0.0.1/", b"*", b"secret.txt", b"/[::1", b"/?" + b"a=1&" * 40]
)
def test_odd_targets_are_refused(browser: Browser, target: bytes) -> None:
    answer = raw(browser, b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target)
    assert re.match(rb"HTTP/1.1 (400|404) ", answer)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8123",
        "",
        "[::1]",
        "127.1",
        "localhost:x",
    ],
)
def test_who_comes_by_another_name_is_refused(browser: Browser, host: str) -> None:
    """A page of somebody else's could have its own name lead to 127.0.0.1, and read what we answer."""
    answer, body = ask(browser, "/api/runs.json", Host=host)
    assert answer.status == 403
    assert b"smoke" not in body


def test_hosts_of_ours_and_of_tunnels_are_answered(browser: Browser) -> None:
    for host in ("localhost", "LOCALHOST:9000", f"127.0.0.1:{browser.server_address[1]}"):
        assert ask(browser, "/api/runs.json", Host=host)[0].status == 200
    assert raw(browser, b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 403 ")
    twice = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert raw(browser, twice).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_nothing_can_be_changed(browser: Browser, method: str) -> None:
    answer, _ = ask(browser, RUN, method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", f"{RUN}/run.json", f"/archives/{RUN[6:]}.tar.gz", "/nothing"])
def test_head_answers_like_get_without_a_body(browser: Browser, path: str) -> None:
    answer, body = ask(browser, path, "HEAD")
    got, whole = ask(browser, path)
    assert body == b""
    assert answer.status == got.status
    assert answer.headers["Content-Length"] == got.headers["Content-Length"]
    assert len(whole) > 0


def test_what_is_no_http_is_refused_in_a_line(browser: Browser) -> None:
    answer = raw(browser, b"\x16\x03\x01 hello there\r\n\r\n")
    assert answer == b"Bad request version ('there')\n"


def test_latest_leads_to_the_newest_run(browser: Browser) -> None:
    answer, _ = ask(browser, "/runs/latest")
    assert (answer.status, answer.headers["Location"]) == (302, "/runs/kips/grow/20261121T100000Z-2")


@pytest.mark.parametrize("above", ["/", "/runs/"])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("latest", "/runs/kips/grow/20261121T100000Z-2"),
        ("latest/", "/runs/kips/grow/20261121T100000Z-2"),
        ("1", RUN),
        ("20261120T10", RUN),
        ("smoke/partition/latest", RUN),
        ("smoke/latest", RUN),
        ("smoke/partition/1", RUN),
        ("smoke/partition/20261120", RUN),
    ],
)
def test_short_names_are_the_same_with_and_without_runs_before_them(
    browser: Browser, above: str, name: str, place: str
) -> None:
    answer, _ = ask(browser, f"{above}{name}")
    assert (answer.status, answer.headers["Location"]) == (302, place)


def test_a_place_without_runs_before_it_leads_to_the_run(browser: Browser) -> None:
    answer, _ = ask(browser, RUN.removeprefix("/runs"))
    assert (answer.status, answer.headers["Location"]) == (302, RUN)


@pytest.mark.parametrize("above", ["/", "/runs/"])
@pytest.mark.parametrize(
    "name",
    ["3", "2026112", "smoke", "smoke/partition/2", "kips/partition/1", "smoke/part/latest", "nowhere/latest",
     "latest/run.json", "..", "smoke/../latest", "smoke//latest", "%2e%2e/latest", "smoke%2flatest",
     "%0d%0aX:%20y"],
)  # fmt: skip
def test_names_of_no_run_are_refused(browser: Browser, above: str, name: str) -> None:
    answer, body = ask(browser, f"{above}{name}")
    assert answer.status == 404
    assert body.startswith(b"there is no such run")


def test_a_place_that_begins_another_one_leads_to_its_own_run(tmp_path: Path) -> None:
    for seed in (1, 12):
        put_run(tmp_path, f"20261121T100000Z-{seed}", scenario="kips/grow")
    answer = StoreSite(tmp_path).answer("/kips/grow/20261121T100000Z-1")
    assert (answer.status, answer.headers["Location"]) == (302, "/runs/kips/grow/20261121T100000Z-1")


def test_a_name_that_several_runs_have_leads_to_none_of_them_without_the_scenario(tmp_path: Path) -> None:
    for scenario in ("smoke/partition", "kips/grow"):
        put_run(tmp_path, f"2026112{len(scenario) % 9}T100000Z-7", scenario=scenario)
    site = StoreSite(tmp_path)
    assert site.answer("/7").status == 404
    assert site.answer("/kips/grow/7").headers["Location"] == "/runs/kips/grow/20261120T100000Z-7"


def test_a_whole_run_is_downloaded_as_it_is(browser: Browser, root: Path) -> None:
    answer, body = ask(browser, f"/archives/{RUN[6:]}.tar.gz")
    assert answer.headers["Transfer-Encoding"] == "chunked"
    name = 'attachment; filename="smoke-partition-20261120T100000Z-1.tar.gz"'
    assert answer.headers["Content-Disposition"] == name
    folder = root / "smoke/partition/20261120T100000Z-1"
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        members = {m.name: m for m in archive.getmembers()}
        assert all(m.isreg() for m in members.values())
        expected = {
            f"{folder.name}/{p.relative_to(folder)}"
            for p in folder.rglob("*")
            if p.is_file() and not p.is_symlink()
        }
        assert set(members) == {name for name in expected if "/nodes/above/" not in name}
        heap = archive.extractfile(f"{folder.name}/nodes/n1/heap.bin")
        assert heap is not None
        assert heap.read() == (folder / "nodes/n1/heap.bin").read_bytes()


def test_an_old_client_gets_the_archive_until_the_connection_ends(browser: Browser) -> None:
    answer = raw(browser, b"GET /archives/%b.tar.gz HTTP/1.0\r\nHost: localhost\r\n\r\n" % RUN[6:].encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert len(gzip.decompress(body)) > 300_000


def test_what_can_not_be_read_is_listed_in_the_archive(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = open_file

    def refusing(root: Path, parts: tuple[str, ...]) -> object:
        if parts[-1] == "heap.bin":
            raise PermissionError(13, "Permission denied")
        return original(root, parts)

    monkeypatch.setattr(archives, "open_file", refusing)
    sink = io.BytesIO()
    write_archive(root, ("smoke", "partition", "20261120T100000Z-1"), sink)
    with tarfile.open(fileobj=io.BytesIO(sink.getvalue())) as archive:
        left_out = archive.extractfile("20261120T100000Z-1/left-out.txt")
        assert left_out is not None
        assert left_out.read() == b"nodes/n1/heap.bin: Permission denied\n"


def test_an_archive_that_breaks_off_does_not_look_whole(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(_: Path, __: tuple[str, ...], sink: io.BytesIO) -> None:
        sink.write(b"some")
        raise OSError("unexpected end of data")

    monkeypatch.setattr("results.serve.routes.write_archive", breaking)
    with pytest.raises(http.client.IncompleteRead):
        ask(browser, f"/archives/{RUN[6:]}.tar.gz")


def test_a_file_that_becomes_shorter_does_not_look_whole(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat

    def larger(handle: int) -> os.stat_result:
        fields = list(real(handle))
        fields[6] += 10
        return os.stat_result(fields)

    monkeypatch.setattr("results.serve.server.os.fstat", larger)
    with pytest.raises(http.client.IncompleteRead):
        ask(browser, f"{RUN}/run.json")


def test_new_runs_are_seen_without_a_restart(tmp_path: Path) -> None:
    site = StoreSite(tmp_path / "runs")
    assert b"There are no runs yet" in site.answer("/").body
    assert site.answer("/runs/latest").status == 404
    folder = put_run(tmp_path / "runs", "20261120T100000Z-1")
    assert b"1 run<" in site.answer("/").body
    assert site.answer(RUN).status == 200
    assert b"This run has no report" in site.answer(RUN).body
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert site.answer(RUN).status == 404


def test_a_single_run_can_be_browsed_without_its_neighbours(tmp_path: Path) -> None:
    folder = put_run(tmp_path, "20261120T100000Z-1")
    put_run(tmp_path, "20261120T100000Z-2")
    (tmp_path / "latest").symlink_to(folder)
    for site in (StoreSite(folder), StoreSite(tmp_path / "latest")):
        assert b"1 run<" in site.answer("/").body
        assert site.answer(f"/runs/{folder.name}").status == 200
        file = site.answer(f"/runs/{folder.name}/run.json").file
        assert file is not None
        file.close()
        assert site.answer("/runs/20261120T100000Z-2/run.json").status == 404


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_and_values_stay_text(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "runs/x/20261120T100000Z-1"
    folder.mkdir(parents=True)
    plain = text.encode("utf-8", "replace").decode()
    identity = msgspec.structs.replace(IDENTITY, scenario=plain, kafka_version=plain, began_at=plain)
    (folder / "run.json").write_bytes(encode_identity(identity))
    found = (result_of(plain, [Anomaly(plain, plain, plain, plain)]),)
    save_verdict(folder, Verdict(Validity.INVALID, found))
    (folder / "measures.json").write_text("<script>")
    site = StoreSite(tmp_path / "runs")
    for path in (
        "/",
        "/trends",
        "/runs/x/20261120T100000Z-1",
        f"/?text={'%3Cscript%3E' * 9}&scenario=%22%3E%3Cb%3E",
    ):
        page = site.answer(path).body.decode()
        tags = [tag for tag, _ in Outline(page).tags]
        assert (tags.count("script"), tags.count("style")) == (1, 0)
        assert not {"img", "b"} & set(tags)
        assert not re.search(
            "[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", re.sub('value="[^"]*"', "", page)
        )


def test_of_two_thousand_runs_a_second_listing_reads_what_changed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put_run(tmp_path / "runs", "20261120T100000Z-1", broken(), faults=("kill",))
    files = list(first.iterdir())
    for number in range(2, 2_001):
        folder = first.parent / f"20261120T100000Z-{number}"
        folder.mkdir()
        for file in files:
            (folder / file.name).hardlink_to(file)
    read: list[Path] = []

    def noted(root: Path, folder: Path) -> RunSummary:
        read.append(folder)
        return summarise_folder(root, folder)

    monkeypatch.setattr(listing, "summarise_folder", noted)
    site = StoreSite(tmp_path / "runs")
    site.answer("/")
    assert len(read) == 2_000
    read.clear()
    changed = first.parent / "20261120T100000Z-7" / VERDICT_FILE
    text = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(text)
    assert b"2,000 runs, page 1 of 10" in site.answer("/").body
    assert read == [changed.parent]
