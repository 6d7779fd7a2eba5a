"""The report shows what was found, in a page that is whole, bounded and asks nobody for anything."""

import hashlib
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import HostIdentity, ImageIdentity, NodeFileIdentity, RunIdentity
from checkers.history.operations import History
from checkers.verdict.tallies import AnomalyTally
from checkers.verdict.verdict import Anomaly, Assumption, CheckerResult, Validity, Verdict, result_of
from results.report import render_report, write_report
from results.report.cards.cards import cards_of
from results.report.cards.witness import witnessed
from results.report.drawing.frame import GUTTER, PLOT, Frame, nice_step
from results.report.size_limits import PAGE_BYTES_MAX, STEPS
from results.report.tables.logs import log_table
from results.report.tables.tables import identity_rows
from results.report.timeline.timeline import timeline
from results.run.observation import observe
from tests.results.story import MS, Run, S, Story

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Tags with their attributes and all text; fails where tags do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] not in (["script"], ["style"]):
            self.text += data

    def of_class(self, name: str) -> int:
        return sum(name in (attrs.get("class") or "").split() for _, attrs in self.tags)


def page_of(run: Run) -> Outline:
    return Outline(render_report(run.history, run.verdict, run.identity))


@pytest.fixture(scope="module")
def red(red_run: Run) -> Outline:
    return page_of(red_run)


def test_the_verdict_and_its_reasons_come_first(red: Outline) -> None:
    head = red.text[: red.text.index("Timeline")]
    assert "Invalid" in head
    assert "Valid was expected" in head
    assert "3 acknowledged records are missing." in head
    assert "krucible run smoke/partition --kafka-version 4.3.1 --seed 7" in head


def test_every_lane_is_drawn(red: Outline) -> None:
    lanes = ("Phases", "Faults", "Anomalies", "Quorum leader", "Nodes", "Partition leaders", "Smallest ISR")
    for name in (*lanes, "Operations", "Latency of sends", "Latency of polls", "Records per second"):
        assert name in red.text
    assert red.of_class("window") - red.of_class("drawn-window") == red.of_class("fault-held") == 3
    assert red.of_class("reign") == 4
    assert red.of_class("stale") == 1
    assert (red.of_class("paused"), red.of_class("exited")) == (1, 1)
    assert red.of_class("mark-info") > 1
    assert red.of_class("mark-fail") > 1


def test_marks_lead_to_sections_that_exist(red: Outline) -> None:
    anchors = {attrs.get("id") for _, attrs in red.tags}
    links = [str(attrs["href"])[1:] for tag, attrs in red.tags if tag == "a"]
    assert len([link for link in links if link.startswith("anomaly-")]) == 4
    assert set(links) <= anchors


def test_ids_are_unique(red: Outline) -> None:
    ids = [attrs["id"] for _, attrs in red.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_every_anomaly_has_its_section_with_guarantee_proof_and_witness(red: Outline) -> None:
    assert (red.of_class("illegal"), red.of_class("witness")) == (4, 5)
    assert "a record acknowledged with acks=all survives as long as one in-sync replica does" in red.text
    assert "KIP-595; KAFKA-15489" in red.text
    assert "n2 < n3, because n2 was elected by n3 at 7.8 s." in red.text
    assert "leader of log-0/2 changed from epoch 0 to 1 at 8.0 s" in red.text


def test_legal_findings_stand_apart(red_run: Run) -> None:
    page = render_report(red_run.history, red_run.verdict)
    folded = page[page.index("<details") : page.index("</details>")]
    assert "Observed, and legal here: 1 cause" in folded
    assert "offsets-reused" in folded
    assert "lost-write" not in folded


def test_tables_show_assumptions_faults_logs_and_identity(red: Outline) -> None:
    for text in ("at least 5000 ms", "5700 ms", "2.3 s", "not known", "37 more lines", "Docker 20.10.24"):
        assert text in red.text
    assert "[ReplicaManager broker=2] Error while writing to checkpoint <file> & shutting down" in red.text


def test_a_green_run_says_what_was_not_found(green_run: Run) -> None:
    page = page_of(green_run)
    assert "No anomaly was found, and every assumption is met." in page.text
    assert "No broken guarantee was found." in page.text
    assert page.of_class("anomaly") == 0


def test_a_run_that_was_killed_in_mid_fault_is_readable(killed_run: Run) -> None:
    page = page_of(killed_run)
    for text in (
        "Unknown",
        "cut short after 17 bytes",
        "has no setup",
        "f1 kill (target not known)",
        "unmet",
    ):
        assert text in page.text
    assert page.of_class("unproven") == 1


def test_an_empty_history_without_identity_or_results_is_readable() -> None:
    page = page_of(Run(History("", "", ()), Verdict(Validity.UNKNOWN, ()), None))
    assert "run without a name" in page.text
    assert "No checker ran." in page.text
    assert "there is no line that reproduces it" in page.text


def test_nothing_is_asked_of_any_network(red_run: Run) -> None:
    page = render_report(red_run.history, red_run.verdict, red_run.identity)
    outline = Outline(page)
    for _, attrs in outline.tags:
        assert not {"src", "srcset", "action", "background", "poster"} & set(attrs)
        assert str(attrs.get("href", "#")).startswith(("#", "data:"))
    assert re.findall(r"@import|https?://|url\((?!\"#)", page) == []


def test_nothing_but_our_own_script_and_style_may_run(red_run: Run) -> None:
    page = render_report(red_run.history, red_run.verdict, red_run.identity)
    policy = next(str(a["content"]) for _, a in Outline(page).tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "style=" not in page.replace("<style", "")
    assert not any(name.startswith("on") for _, attrs in Outline(page).tags for name in attrs)


def test_the_file_is_written_whole(red_run: Run, tmp_path: Path) -> None:
    path = write_report(tmp_path, red_run.history, red_run.verdict, red_run.identity)
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8").endswith("</html>")


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></svg><script>alert(2)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "nul \x00 bell \x07 escape \x1b[2J",
    "lone \ud800 surrogate",
    "turned \u202e right to left",
    "x" * 1_000_000,
    "<b>" * 300_000,
)


def hostile_run(text: str) -> Run:
    """A run in which every text that is not ours is `text`."""
    story = Story()
    plan = {"kind": text, "spec": {text: text, "pattern": [text]}}
    story.add(1 * S, text, "ok", "phase", text)
    story.add(2 * S, text, "invoke", "inject", text, plan)
    story.add(3 * S, text, "info", "inject", text, plan | {"targets": [text], "cut": []}, error=text)
    story.add(4 * S, 1, "invoke", "send", text, [[0, text]])
    story.add(5 * S, 1, "info", "send", text, [[0, text, None, "info"]], error=text)
    story.add(6 * S, text, "ok", "observe", "node", {"status": text}, node=text)
    leads = {"began_ns": 0, "answer": "leader", "leader_id": 1, "leader_epoch": 1, "high_watermark": 0}
    answer = leads | {"wall_ms": 0, "voters": [[1, text, 0, 0, 0]]}
    story.add(7 * S, text, "ok", "observe", "quorum", answer, node=text)
    views = {"began_ns": 0, "topics": {text: [[0, 1, 0, [1], [1], None]]}}
    story.add(7 * S, text, "ok", "observe", "partitions", views, node=text)
    line = {"line": 1, "at": text, "level": text, "text": text}
    story.add(8 * S, text, "ok", "observe", "node-log", line, node=text)
    story.add(8 * S, text, "ok", "observe", "node-log", {"line": None, "text": text}, node=text)
    history = msgspec.structs.replace(story.history(), damage=(text,), run=text)
    anomaly = Anomaly(
        text,
        text,
        text,
        text,
        subject=text,
        time_ns=5 * S,
        witness=tuple(range(10)),
        explanation=(text,) * 40,
    )
    found = [anomaly, msgspec.structs.replace(anomaly, illegal=False, licence=text)]
    figures = {text: text, "deep": {text: [text]}, "few": [text]}
    assumption = Assumption(text, met=False, expected=text, observed=text)
    result = result_of(text, found, assumptions=(assumption,), figures=figures)
    doubt = result_of(text, [], unknown_because=text)
    return Run(history, Verdict(Validity.INVALID, (result, doubt), reasons=(text,)), hostile_identity(text))


def hostile_identity(text: str) -> RunIdentity:
    return RunIdentity(
        run=text,
        scenario=text,
        seed=1,
        kafka_version=text,
        began_at=text,
        reproduce=text,
        argv=(text,),
        krucible_commit=text,
        image=ImageIdentity(reference=text, source=text, digest=text, checksums={text: text}, tools=text),
        other_images={text: ImageIdentity(reference=text, source=text, digest=text)},
        features={text: 1},
        host=HostIdentity(kernel=text, engine=text),
        config={text: text},
        jvm_options=(text,),
        node_files=(NodeFileIdentity(source=text, destination=text),),
        options={text: text},
    )


def test_tools_of_another_version_are_named_and_kafkas_own_are_not() -> None:
    borrowed = hostile_identity("4.1.1")
    own = msgspec.structs.replace(borrowed, image=ImageIdentity(reference="krucible/kafka:4.3.1"))
    assert ("Tools", "4.1.1") in identity_rows(borrowed, STEPS[0])
    assert "Tools" not in dict(identity_rows(own, STEPS[0]))


def test_images_of_all_versions_that_nodes_had_are_listed() -> None:
    older = ImageIdentity(reference="krucible/kafka:3.9.0", source="maven", digest="sha256:1")
    upgraded = msgspec.structs.replace(hostile_identity("x"), other_images={"3.9.0": older})
    assert ("Image of 3.9.0", "krucible/kafka:3.9.0 (maven), sha256:1") in identity_rows(upgraded, STEPS[0])


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text(text: str, tmp_path: Path) -> None:
    run = hostile_run(text)
    path = write_report(tmp_path, run.history, run.verdict, run.identity)
    page = path.read_text(encoding="utf-8")
    assert path.stat().st_size <= PAGE_BYTES_MAX
    outline = Outline(page)
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("script") == tags.count("style") == 1
    assert not {"img", "b"} & set(tags)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", page)
    assert "49" not in outline.text or "7 * 7" not in text


@pytest.mark.slow
def test_a_hundred_thousand_operations_stay_one_small_page(crowded_run: Run) -> None:
    page = render_report(crowded_run.history, crowded_run.verdict)
    assert len(page) <= PAGE_BYTES_MAX


def test_what_is_left_out_is_counted(red_run: Run) -> None:
    many = [
        Anomaly(
            f"a-{i % 40}",
            "s" * 9_000,
            "g" * 9_000,
            "&" * 9_000,
            subject=f"n{i}",
            time_ns=i * MS,
            witness=tuple(range(50)),
        )
        for i in range(800)
    ]
    verdict = Verdict(Validity.INVALID, (result_of("log", many),))
    page = render_report(red_run.history, verdict)
    assert len(page.encode()) <= PAGE_BYTES_MAX
    assert re.search(r"\d+ more causes are in verdict\.json", page)
    assert re.search(r"\d+ more operations of this witness are not shown", page)


def test_causes_without_a_witness_are_few_lines_and_the_rest_is_counted() -> None:
    tallies = tuple(AnomalyTally(id="lost-write", place=f"log-0/{n}", count=2) for n in range(50_000))
    result = CheckerResult("log", Validity.INVALID, {"lost-write": 100_000}, tallies=tallies)
    page = render_report(History("", "", ()), Verdict(Validity.INVALID, (result,)))
    assert len(page.encode()) <= PAGE_BYTES_MAX
    shown = page.count("2 lost-write</bdi>")
    assert shown == STEPS[0].rows
    assert f"{50_000 - shown:,} more causes are in verdict.json." in page
    assert "No broken guarantee was found." not in page


def test_witnesses_outside_the_history_are_counted_and_not_shown(killed_run: Run) -> None:
    anomaly = Anomaly("lost-write", "s", "g", "s", witness=(-1, 0, 99))
    verdict = Verdict(Validity.INVALID, (result_of("log", [anomaly]),))
    (finding,) = cards_of(verdict, witnessed(killed_run.history, ()), STEPS[0]).illegal
    assert [row.index for row in finding.witness] == [0]
    assert finding.witness_left_out == 2


def test_harmless_log_lines_come_last_with_their_reason() -> None:
    story = Story()
    for number, text in ((1, "Graceful shutdown of RaftClient failed"), (2, "disk on fire")):
        line = {"line": number, "at": "2026", "level": "ERROR", "text": text}
        story.add(1 * S, "o", "ok", "observe", "node-log", line, node="n1")
    table = log_table(observe(story.history()), STEPS[0])
    assert [(row.line, bool(row.harmless)) for row in table.rows] == [(2, False), (1, True)]
    assert "harmless: a node that stops" in render_report(story.history(), Verdict(Validity.VALID, ()))


@pytest.mark.parametrize(
    ("least", "step"), [(0.9, 1), (1, 1), (1.1, 2), (3, 5), (6, 10), (0.03, 0.05), (400, 500)]
)
def test_steps_of_axes_are_round(least: float, step: float) -> None:
    assert nice_step(least) == pytest.approx(step)


@pytest.mark.parametrize("end_ns", [1, 1_000, S, 3_600 * S, 2**62])
def test_an_axis_has_a_few_ticks_whatever_its_length(end_ns: int) -> None:
    ticks = Frame(0, end_ns).ticks()
    assert 2 <= len(ticks) <= 12
    assert all(GUTTER <= x <= GUTTER + PLOT for x, _ in ticks)


def test_the_start_of_a_cluster_is_left_out_where_it_took_long() -> None:
    story = Story()
    story.add(1, "runner", "ok", "setup", value={})
    story.add(20 * S, "runner", "ok", "phase", "load")
    story.add(60 * S, "runner", "ok", "phase", "done")
    drawn = timeline(observe(story.history()), (), STEPS[0])
    assert 'data-begin-s="20.0"' in drawn
    assert 'data-end-s="60.0"' in drawn


def test_more_partitions_than_rows_are_counted() -> None:
    story = Story()
    table = [[partition, partition % 7, 0, [1], [1], None] for partition in range(100)]
    story.add(1 * S, "o", "ok", "observe", "partitions", {"began_ns": 0, "topics": {"t": table}}, node="n1")
    story.add(2 * S, "runner", "ok", "phase", "done")
    drawn = timeline(observe(story.history()), (), STEPS[0])
    assert "76 partitions that changed less are not shown" in drawn


def test_overlapping_faults_get_rows_of_their_own() -> None:
    story = Story()
    for number in range(3):
        plan = {"kind": "pause", "spec": {}}
        story.add((1 + number) * S, "nemesis", "invoke", "inject", f"f{number}", plan)
        story.add((2 + number) * S, "nemesis", "ok", "inject", f"f{number}", plan | {"targets": ["n1"]})
    story.add(60 * S, "runner", "ok", "phase", "done")
    drawn = timeline(observe(story.history()), (), STEPS[0])
    tops = re.findall(r'<rect [^>]*y="([\d.]+)"[^>]* class="fault"', drawn)
    assert tops == ["0", "21", "42"]
