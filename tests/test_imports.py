"""What the packages may import, and how many rooms, arrows and floors they may have."""

import sys
from collections.abc import Mapping
from graphlib import CycleError
from pathlib import Path

import pytest

from tests.imports import Structure, imported, is_within, structure

ROOT = Path(__file__).parent.parent

ALLOWED = {
    "checkers": ("checkers", "msgspec", "numpy", "scipy"),
    "compose": (),
    "results": ("results", "checkers", "jinja2", "markdown_it", "markupsafe", "msgspec", "numpy", "scipy"),
    "scenarios": ("scenarios", "harness.vocabulary", "msgspec"),
}
"""What a package may import besides Python's library; what is not here is not allowed."""
ALLOWED_IN = {"results/pipeline": ("py4j", "pyarrow", "pyspark")}
"""What only a folder may import in addition, because it is installed only on request."""

LIMITS = {"checkers": (16, 80, 10), "harness": (20, 100, 9), "results": (16, 50, 8)}
"""How many rooms, arrows and floors a package may have; with more of them nobody can draw it on a page."""


def strangers(package: Path, allowed: tuple[str, ...], allowed_in: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Imports of a package that are not allowed, each with its file, from the folder of the package."""
    root = package.parent
    found: set[str] = set()
    for path in package.rglob("*.py"):
        more = (
            name for folder in allowed_in if path.is_relative_to(root / folder) for name in allowed_in[folder]
        )
        expected = (*allowed, *more)
        for name in imported(path):
            if name.split(".")[0] in sys.stdlib_module_names:
                continue
            if not any(is_within(name, one) for one in expected):
                found.add(f"{path.relative_to(root)} imports {name}")
    return found


@pytest.mark.parametrize("package", list(ALLOWED))
def test_a_package_imports_only_what_is_allowed(package: str) -> None:
    assert strangers(ROOT / package, ALLOWED[package], ALLOWED_IN) == set()


def test_what_is_allowed_is_imported() -> None:
    used = {
        package: {name for path in (ROOT / package).rglob("*.py") for name in imported(path)}
        for package in (*ALLOWED, *ALLOWED_IN)
    }
    allowed = [(package, one) for package, names in (ALLOWED | ALLOWED_IN).items() for one in names]
    assert not [(p, one) for p, one in allowed if not any(is_within(name, one) for name in used[p])]


@pytest.mark.parametrize("package", list(LIMITS))
def test_a_package_stays_as_simple_as_a_drawing(package: str) -> None:
    rooms, arrows, floors = structure(ROOT / package)
    rooms_max, arrows_max, floors_max = LIMITS[package]
    assert len(rooms) <= rooms_max, sorted(rooms)
    assert len(arrows) <= arrows_max, sorted(arrows)
    assert floors <= floors_max


def written(root: Path, files: dict[str, str]) -> Path:
    """A package called house with these files."""
    package = root / "house"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


def test_rooms_arrows_and_floors_are_counted(tmp_path: Path) -> None:
    package = written(
        tmp_path,
        {
            "__init__.py": "from house import roof\n",
            "cellar.py": "import os\nimport docker\n",
            "hall/__init__.py": "from house import cellar\n",
            "hall/stairs.py": "from house.cellar import barrel\nfrom house.hall import door\n",
            "roof/tiles.py": "def f():\n    import house.hall.stairs\n    from house import version\n",
        },
    )
    arrows = frozenset({("hall", "cellar"), ("roof", "hall")})
    assert structure(package) == Structure(frozenset({"cellar", "hall", "roof"}), arrows, 3)


def test_rooms_that_import_each_other_have_no_floors(tmp_path: Path) -> None:
    package = written(tmp_path, {"a.py": "import house.b\n", "b.py": "from house import a\n"})
    with pytest.raises(CycleError):
        structure(package)


def test_an_import_that_is_not_allowed_is_named(tmp_path: Path) -> None:
    package = written(
        tmp_path,
        {
            "a.py": "import json\nimport house.b\nfrom harness import vocabulary, clients\nimport numpyro\n",
            "b/c.py": "import pyspark.sql\nfrom numpy import array\nfrom harness.vocabulary import Kill\n",
            "d.py": "import pyspark\n",
        },
    )
    found = strangers(package, ("house", "harness.vocabulary", "numpy"), {"house/b": ("pyspark",)})
    assert found == {
        "house/a.py imports harness.clients",
        "house/a.py imports numpyro",
        "house/d.py imports pyspark",
    }


def test_a_relative_import_is_refused(tmp_path: Path) -> None:
    package = written(tmp_path, {"a.py": "from . import b\n", "b.py": ""})
    with pytest.raises(ValueError, match="relative import"):
        structure(package)
