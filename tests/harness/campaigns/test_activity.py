"""What long commands show of their steps: on a terminal, after a while, and nowhere else."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from functools import partial
from pathlib import Path

import pytest

from checkers.judge import CHECKERS, judge_by
from harness import cli
from harness.campaigns import activity, rejudging
from harness.campaigns.activity import show_nothing, showing, shown_on_terminal
from harness.cli.histories import check
from tests.harness.waiting import BOUND_S, wait_until
from tests.results.pipeline.stored_runs import STORY, store


class Screen(io.StringIO):
    """What passes for a terminal."""

    def isatty(self) -> bool:
        return True


class GoneScreen(Screen):
    """A terminal that was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tried = threading.Event()

    def write(self, _: str) -> int:
        self.tried.set()
        raise BrokenPipeError


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who watches, and knows no patience."""
    for name in ("CI", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(activity, "PATIENCE_S", 0.0)


@pytest.mark.usefixtures("person")
def test_on_a_terminal_the_step_is_shown_and_how_many_are_done() -> None:
    with redirect_stderr(Screen()) as screen, shown_on_terminal(2) as show:
        for step, done in (("reading", "0/2"), ("log", "1/2")):
            show(step)
            wait_until(partial(shown_on, screen, step, done))
    assert screen.getvalue().endswith("\x1b[2K"), "the line is still there"


def shown_on(screen: io.StringIO, *texts: str) -> bool:
    return all(text in screen.getvalue() for text in texts)


@pytest.mark.usefixtures("person")
def test_what_is_over_soon_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "PATIENCE_S", 3600.0)
    with redirect_stderr(Screen()) as screen, shown_on_terminal(1) as show:
        show("reading")
    assert screen.getvalue() == ""


@pytest.mark.usefixtures("person")
def test_ci_is_no_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with redirect_stderr(Screen()), shown_on_terminal(1) as show:
        assert show is show_nothing


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("forced", ["", "1"])
def test_elsewhere_nothing_is_shown(monkeypatch: pytest.MonkeyPatch, forced: str) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    with redirect_stderr(io.StringIO()) as pipe, shown_on_terminal(1) as show:
        assert show is show_nothing
        show("reading")
    assert pipe.getvalue() == ""


def test_stderr_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with shown_on_terminal(1) as show:
        assert show is show_nothing


@pytest.mark.usefixtures("person")
def test_a_terminal_that_has_gone_is_no_reason_to_judge_any_less() -> None:
    with redirect_stderr(GoneScreen()) as screen, shown_on_terminal(len(CHECKERS)) as show:
        assert screen.tried.wait(BOUND_S)
        assert judge_by(STORY, showing(show, CHECKERS)) == judge_by(STORY, CHECKERS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", ["reading", *CHECKERS, "writing the verdict"]),
        ("history-n1.jsonl", ["reading", "judging"]),
        ("others.edn", ["reading", "judging"]),
    ],
)
def test_check_shows_every_step_it_takes(
    name: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store(tmp_path, "a1")
    (folder / "others.edn").write_text("{:process 0 :type :invoke :f :read :value nil}\n")
    next(folder.glob("history-*.jsonl")).rename(folder / "history-n1.jsonl")
    steps: list[int] = []
    shown: list[str] = []

    @contextmanager
    def noted(count: int) -> Iterator[activity.Show]:
        steps.append(count)
        yield shown.append

    for module in (check, rejudging):
        monkeypatch.setattr(module, "shown_on_terminal", noted)
    assert cli.invoke(["check", str(folder / name)]) in {0, 1, 2}
    assert shown == expected
    assert steps == [len(expected)]
