"""Names that are no run: what they may have been meant for, and the next step."""

from pathlib import Path

import pytest

from results.store.runs import RunNotFoundError, find_run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "smoke" / "partition" / "20261120T215657Z-7"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    return tmp_path / "runs"


def refusal(store: Path, name: str) -> str:
    with pytest.raises(RunNotFoundError) as refused:
        find_run(store, name)
    return str(refused.value)


def test_a_misspelt_scenario_is_named(store: Path) -> None:
    assert "  got:      smoke/partitoin; did you mean smoke/partition?\n" in refusal(store, "smoke/partitoin")


def test_a_file_of_a_run_leads_to_its_folder(store: Path) -> None:
    (file,) = store.glob("*/*/*/run.json")
    assert f"  got:      a file; its folder is {file.parent}\n" in refusal(store, str(file))


@pytest.mark.parametrize("name", ["999999", "x" * 5_000, "no\x00file"])
def test_other_names_have_no_hint(store: Path, name: str) -> None:
    text = refusal(store, name)
    assert "got:" not in text
    assert "  next:     krucible list" in text
