"""The drawing of the cluster as it is written: bounded whatever happened to the links, and honest."""

import re
from itertools import permutations
from typing import Any

from checkers.verdict.verdict import Validity, Verdict
from results.report import render_report
from results.report.size_limits import PAGE_BYTES_MAX, STEPS
from results.report.topology import topology
from results.run.observation import observe
from tests.results.story import MS, S, Story


def story_of_cuts(*, nodes: int, faults: int, beyond: int = 0) -> Story:
    """Every node is cut from every other, again and again; those beyond the setup are in faults alone."""
    names = [f"n{number}" for number in range(nodes)]
    others = [f"x{number}" for number in range(beyond)]
    story = Story()
    story.add(1, "runner", "ok", "setup", value={"nodes": [{"name": name, "roles": []} for name in names]})
    cut = [list(pair) for pair in permutations((*names, *others), 2)]
    plan = {"kind": "partition", "spec": {"kind": "partition"}}
    for number in range(faults):
        begin = (number * 10 + 5) * S
        done = plan | {"targets": names, "cut": cut, "probe": {}}
        for moment, f in ((begin, "inject"), (begin + 5 * S, "heal")):
            story.add(moment, "nemesis", "invoke", f, f"f{number}", plan)
            story.add(moment + 300 * MS, "nemesis", "ok", f, f"f{number}", done)
    return story


def story_of_states(times: int) -> Story:
    """One node exits, is paused, and leads, each time for longer."""
    story = Story()
    story.add(1, "runner", "ok", "setup", value={"nodes": [{"name": "n1", "roles": ["controller"]}]})

    def seen(now_s: int, what: str, value: dict[str, Any]) -> None:
        story.add(now_s * S, "observer-n1", "ok", "observe", what, value, node="n1")

    now_s = 1
    for number in range(times):
        seen(now_s, "node", {"status": "exited"})
        seen(now_s + number + 1, "node", {"status": "paused"})
        now_s += 3 * number + 2
        seen(now_s, "node", {"status": "running"})
        leading = {"answer": "leader", "leader_id": 1, "leader_epoch": number, "high_watermark": 1}
        answered = {"voters": [], "wall_ms": 1, "began_ns": now_s * S}
        seen(now_s, "quorum", leading | answered)
        seen(now_s + 2, "quorum", leading | answered)
        now_s += 5
    return story


def test_times_of_nodes_that_are_not_shown_are_counted() -> None:
    limit = STEPS[0].segments
    whole = topology(observe(story_of_states(limit).history()), STEPS[0])
    assert whole is not None
    assert whole.states_left_out == 0
    history = story_of_states(limit + 7).history()
    drawn = topology(observe(history), STEPS[0])
    assert drawn is not None
    assert drawn.states_left_out == 21, "7 of each kind"
    (dead,) = re.findall('data-dead="([^"]*)"', drawn.drawing)
    assert len(dead.split()) == limit
    assert not dead.startswith("1-2"), "the shortest is left out"
    page = render_report(history, Verdict(Validity.VALID, ()))
    message = "Of the times in which nodes led, were dead or were paused, the 21 shortest are not shown here."
    assert message in page
    assert "the 7 shortest are not drawn" in page, "the lane of the quorum's leader says so as well"


def test_links_that_are_cut_too_often_are_counted_and_not_drawn() -> None:
    history = story_of_cuts(nodes=12, faults=400).history()
    page = render_report(history, Verdict(Validity.VALID, ()))
    assert len(page.encode()) <= PAGE_BYTES_MAX
    assert "its links were cut or disturbed 52,800 times" in page
    assert 'id="topology"' not in page


def test_only_links_that_are_drawn_count() -> None:
    drawn = topology(observe(story_of_cuts(nodes=3, faults=20, beyond=40).history()), STEPS[-1])
    assert drawn is not None
    assert not drawn.times_of_links
    assert drawn.drawing.count("data-cut") == 3


def test_faults_that_are_not_listed_are_counted() -> None:
    faults = STEPS[0].segments + 7
    page = render_report(story_of_cuts(nodes=2, faults=faults).history(), Verdict(Validity.VALID, ()))
    assert len(re.findall("<li data-during", page)) == STEPS[0].segments
    assert "Of the faults, the 7 latest are not listed here." in page
