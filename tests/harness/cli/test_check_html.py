"""``krucible check FILE --html``: a report with all that a history has, and nothing that it has not."""

import json
import re
from pathlib import Path

import pytest

from harness import cli
from results.report.size_limits import PAGE_BYTES_MAX
from tests.checkers.foreign.texts import edn_of
from tests.results.report.test_report import Outline

LOST = """0 invoke send [[:send 1 5]]
0 ok send [[:send 1 [0 5]]]
0 invoke send [[:send 1 6]]
0 ok send [[:send 1 [1 6]]]
0 invoke send [[:send 1 7]]
0 ok send [[:send 1 [2 7]]]
nemesis info kill-broker :n1
1 invoke poll [[:poll]]
1 ok poll [[:poll {1 [[0 5] [2 7]]}]]"""
SKEW = """{:process 0 :type :invoke :f :txn :value [[:append 1 1] [:r 2 nil]]}
{:process 1 :type :invoke :f :txn :value [[:append 2 1] [:r 1 nil]]}
{:process 0 :type :ok :f :txn :value [[:append 1 1] [:r 2 []]]}
{:process 1 :type :ok :f :txn :value [[:append 2 1] [:r 1 []]]}
{:process 0 :type :invoke :f :txn :value [[:r 1 nil] [:r 2 nil]]}
{:process 0 :type :ok :f :txn :value [[:r 1 [1]] [:r 2 [1]]]}
"""
JOURNAL = '{"krucible_history":1,"run":"r","journal":"worker-3","began_at":"2026-11-20T21:56:57Z"}\n'
SEND = '{"index":0,"time_ns":1,"process":3,"type":"invoke","f":"send","key":"log-0","value":[[2,5]]}\n'
OF_RUNS_ONLY = (
    "No fault was injected",
    "Faults",
    "identity could not be read",
    "no setup",
    "expected",
    "Run it again",
    "What ran",
    "before the recovery",
    "verdict.json",
    "No event of the history permits",
    "“cluster”",
    "Quorum leader",
    "Node logs",
)
CORPUS = Path(__file__).parents[4] / "shared" / "corpus"


@pytest.fixture(autouse=True)
def in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))


def written(name: str, content: str) -> str:
    Path(name).write_text(content)
    return name


def timed(lines: str) -> str:
    """The history with times of seconds, not of thousands of nanoseconds."""
    return edn_of(lines).replace("000, :process", "000000000, :process")


def checked(name: str, content: str, *words: str, code: int = 1) -> Outline:
    page = f"{name}.html"
    assert cli.invoke(["check", written(name, content), "--html", *words]) == code
    return Outline(Path(page).read_text())


def test_the_page_of_a_history_has_verdict_causes_witnesses_and_timeline() -> None:
    page = checked("history.edn", timed(LOST))
    for text in ("Invalid", "history.edn", "kafka", "lost-write", "6 was acknowledged at jepsen/1@1"):
        assert text in page.text
    for text in ("Operations", "Latency of sends", "Records per second", "seconds since the run began"):
        assert text in page.text
    assert "4 operations of 2 processes" in page.text
    assert ("send: 3 ok" in page.text, "nemesis: 1 info" in page.text) == (True, True)
    assert re.search(
        r"What was judged\s*File\s*history.edn\s*Workload\s*kafka\s*Judged by\s*krucible", page.text
    )
    assert page.of_class("witness") == 1


def test_a_page_counts_the_outcomes_that_the_file_has() -> None:
    content = timed("""
0 invoke txn [[:send 1 5]]
0 ok txn [[:send 1 [0 5]]]
0 invoke txn [[:send 1 6]]
0 info txn [[:send 1 6]]
1 invoke txn [[:poll]]
1 fail txn [[:poll {1 [[0 5] [1 6]]}]]
2 invoke txn [[:send 1 7]]""")
    page = checked("h", content, code=0)
    assert "4 operations of 3 processes" in page.text
    assert "txn: 1 ok, 1 info, 1 fail, 1 never ended" in page.text


def test_the_page_says_nothing_of_what_only_a_run_has() -> None:
    page = checked("history.edn", timed(LOST))
    assert [text for text in OF_RUNS_ONLY if text in page.text.replace("Faults and anomalies", "")] == []
    assert "Cluster at a moment" not in str(page.tags)


def test_operations_of_a_witness_have_their_lines_in_the_file() -> None:
    page = Path("h.html")
    assert cli.invoke(["check", written("h", "\n\n" + timed(LOST)), "--html"]) == 1
    rows = re.findall(r'<tr><td class="n">(\d+)</td><td class="n">(\d+)</td>', page.read_text())
    assert rows == [("3", "6"), ("8", "11")]


def test_a_history_without_times_is_drawn_in_its_order_and_shows_no_time() -> None:
    page = checked("skew.edn", SKEW)
    assert "operation 3" in page.text
    assert "position of the operation, no times recorded" in page.text
    assert "The page shows only their order" in page.text
    assert "Latency" not in page.text
    assert "time, s" not in page.text
    assert not re.search(r"\d s\b", page.text)
    assert "from operation 0 to 2: ok" in page.text
    assert ("data-timed", "no") in [item for _, attrs in page.tags for item in attrs.items()]


def test_transactions_over_lists_are_drawn_with_their_latency() -> None:
    lines = SKEW.splitlines()
    with_times = [line.replace("{", f"{{:time {n * 10**9} ", 1) for n, line in enumerate(lines)]
    page = checked("skew.edn", "\n".join(with_times))
    assert "unexpected shape" not in page.text
    assert "10 s" in page.text  # the axis of latencies that are two seconds


def test_a_journal_of_our_own_has_a_page_too(capsys: pytest.CaptureFixture[str]) -> None:
    page = checked("history-worker-3.jsonl", JOURNAL + SEND, code=2)
    assert "report     history-worker-3.jsonl.html\n" in capsys.readouterr().out
    assert "Unknown" in page.text
    assert "send: 1 never ended" in page.text
    assert "What was judged" in page.text
    assert "Fault" not in page.text.replace("Faults and anomalies", "")


def test_the_command_says_where_the_page_is(capsys: pytest.CaptureFixture[str]) -> None:
    file = written("h", SKEW)
    assert cli.invoke(["check", file, "--html", "there.html"]) == 1
    assert "\nreport     there.html\n" in capsys.readouterr().out
    assert cli.invoke(["check", file, "--html", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["report"] == "h.html"
    assert cli.invoke(["check", file, "--json"]) == 1
    assert "report" not in json.loads(capsys.readouterr().out)
    assert (Path("there.html").is_file(), Path("h.html").is_file()) == (True, True)


def test_standard_input_has_a_page_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path(written("h", SKEW)).open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert cli.invoke(["check", "-", "--html"]) == 1
    assert "report     history.html" in capsys.readouterr().out
    assert "standard input" in Path("history.html").read_text()


HOSTILE = "</title></script></svg><img src=x onerror=alert(1)><script>alert(2)</script>{{ 'q' * 9 }}"


def test_hostile_values_of_a_history_stay_text() -> None:
    text = json.dumps(HOSTILE)
    times = "".join(
        f"{{:time {n} :process 0 :type :{kind} :f {text} :value [[:append {text} {n}] [:r {text} {read}]]"
        f" :error {text}}}\n"
        for n, (kind, read) in enumerate((("invoke", "nil"), ("ok", f"[{text}]")))
    )
    name = "<img src=x onerror=alert(1)>{{ 'q' * 9 }}.edn"
    page = checked(name, times)
    tags = [tag for tag, _ in page.tags]
    assert (tags.count("script"), tags.count("img"), tags.count("title")) == (
        1,
        0,
        len(tags_of_svg(page)) + 1,
    )
    assert page.text.count("onerror=alert(1)") > 3
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert "q" * 9 not in page.text


def tags_of_svg(page: Outline) -> list[str]:
    """The titles of shapes, apart from the page's own."""
    return [tag for tag, _ in page.tags if tag == "title"][1:]


def test_a_large_history_has_a_small_page() -> None:
    lines = (
        json.dumps(
            {
                "process": n % 40,
                "type": kind,
                "f": "write",
                "value": f"{'<' * 300}{n}",
                "time": n * 10**6 + after,
            }
        )
        for n in range(8_000)
        for after, kind in ((0, "invoke"), (5 * 10**5, "ok"))
    )
    assert cli.invoke(["check", written("h", "\n".join(lines)), "--html"]) == 0
    assert Path("h.html").stat().st_size <= PAGE_BYTES_MAX


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["h", "--html", "no/x.html"], "no, which is not a folder"),
        (["h", "--html", "here.html"], "which is a folder"),
        (["h", "--html", "."], "which is a folder"),
        (["h", "--html", "page.htm"], "--html with a file that ends with .html"),
        (["--html", "h"], "--html with a file that ends with .html"),
        (["itself.html", "--html", "itself.html"], "got:      the history itself"),
        (["junk", "--html"], "this file can't be judged"),
        (["x", "--html"], "got:      --html"),
        ([".", "--labels", "h", "--html"], "got:      --html"),
    ],
)
def test_places_where_no_page_can_be_are_refused(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("h", "itself.html"):
        written(name, SKEW)
    written("junk", "{:a")
    for folder in ("here.html", "runs/x/20261120T215657Z-8"):
        Path(folder).mkdir(parents=True)
    assert cli.invoke(["check", *words]) == 64
    output = capsys.readouterr()
    assert expected in output.err
    assert output.out == ""
    assert (Path("h").read_text(), Path("itself.html").read_text()) == (SKEW, SKEW)


def test_a_disk_that_refuses_the_page_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "h.html")

    monkeypatch.setattr("results.store.runs.tempfile.mkstemp", refuse)
    assert cli.invoke(["check", written("h", SKEW), "--html"]) == 3
    output = capsys.readouterr()
    assert "No space left on device" in output.err
    assert "verdict    INVALID" in output.out, "the verdict is not lost"
    assert not Path("h.html").exists()


@pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the recorded histories are not beside this checkout (../shared/corpus)"
)
def test_histories_that_others_recorded_have_pages() -> None:
    labels = json.loads((CORPUS / "labels.json").read_bytes())
    for file in list(labels)[::8]:
        assert cli.invoke(["check", str(CORPUS / file), "--html", "page.html"]) in {0, 1}
        outline = Outline(Path("page.html").read_text())
        assert "Operations" in outline.text
        assert [
            text for text in OF_RUNS_ONLY if text in outline.text.replace("Faults and anomalies", "")
        ] == []
