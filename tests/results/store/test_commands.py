"""Commands that are printed to be pasted use the store that they speak of."""

from pathlib import Path

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.run.text import closing_text
from results.store.commands import command_to_list, option_of_store_of, store_option
from tests.results.story import IDENTITY

RED = Verdict(Validity.INVALID, (result_of("log", [Anomaly("lost-write", "it is gone", "g", "s")]),))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("KRUCIBLE_RUNS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_default_store_needs_no_option_by_whatever_path_it_is_named(here: Path) -> None:
    assert store_option(Path("runs")) == ""
    assert store_option(here / "runs") == ""
    assert command_to_list(Path("./runs")) == "krucible list"


def test_another_store_is_named_and_quoted() -> None:
    assert store_option(Path("my store")) == " --runs 'my store'"
    assert command_to_list(Path("night")) == "krucible list --runs night"


def test_a_store_of_the_environment_is_named_and_so_is_the_default_one_in_its_place(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRUCIBLE_RUNS", "night")
    assert store_option(here / "night") == f" --runs {here}/night"
    assert store_option(Path("runs")) == " --runs runs"
    monkeypatch.setenv("KRUCIBLE_RUNS", str(here / "runs"))
    assert store_option(Path("runs")) == ""


def test_a_run_knows_its_store_by_its_scenario(here: Path) -> None:
    place = f"{IDENTITY.scenario}/20261120T215657Z-7"
    assert option_of_store_of(here / "night" / place, IDENTITY) == f" --runs {here}/night"
    assert option_of_store_of(here / "runs" / place, IDENTITY) == ""
    assert option_of_store_of(here / "a-copy", IDENTITY) == ""
    assert option_of_store_of(here / "night" / place, None) == ""
    assert option_of_store_of(here / place, msgspec.structs.replace(IDENTITY, scenario="")) == ""


def test_the_last_lines_of_a_red_run_name_its_store(here: Path) -> None:
    folder = here / "my store" / IDENTITY.scenario / "20261120T215657Z-7"
    lines = closing_text(folder, RED, IDENTITY).splitlines()
    assert lines[-2] == f"reproduce  {IDENTITY.reproduce} --runs '{here}/my store'"
    assert lines[-1] == f"minimise   krucible minimise '{folder}' --runs '{here}/my store'"
