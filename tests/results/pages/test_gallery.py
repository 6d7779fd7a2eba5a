"""The gallery in docs: real runs, reports of this version, small, and without a request to anybody."""

import re
import tarfile
from pathlib import Path

import pytest

from results.pages.gallery import gallery_runs, main, page_of, render_bundle
from results.report.size_limits import PAGE_BYTES_MAX
from tests.guides import ROOT
from tests.results.chromium import CHROMIUM, Chromium

GALLERY = ROOT / "docs/gallery"
BUNDLES = gallery_runs(GALLERY)
BUNDLE_BYTES_MAX = 500_000
NAMES = ["lost-writes", "transaction-cycle", "valid", "zombie-leader"]
each = pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: page_of(bundle).stem)


def test_every_report_of_the_gallery_has_its_run_beside_it_and_is_linked() -> None:
    assert [page_of(bundle).stem for bundle in BUNDLES] == NAMES
    assert sorted(page.stem for page in GALLERY.glob("*.html")) == NAMES
    for document, place in ((ROOT / "README.md", "docs/gallery"), (ROOT / "docs/README.md", "gallery")):
        text = document.read_text()
        assert [name for name in NAMES if f"({place}/{name}.html)" not in text] == []


@each
def test_a_report_is_what_this_version_makes_of_its_run(bundle: Path) -> None:
    assert page_of(bundle).read_bytes() == render_bundle(bundle), "run: make docs"


@each
def test_a_report_and_its_run_are_small_and_name_no_folder_of_a_machine(bundle: Path) -> None:
    page = page_of(bundle).read_text()
    assert len(page.encode()) <= PAGE_BYTES_MAX
    assert bundle.stat().st_size <= BUNDLE_BYTES_MAX
    paths = re.compile(r"(?<![\w.])/(tmp|work|root|home)/")
    assert paths.findall(page) == []
    with tarfile.open(bundle) as archive:
        opened = [archive.extractfile(member) for member in archive]
        assert not any(paths.search(file.read().decode()) for file in opened if file)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)")
@each
def test_a_report_asks_nobody_logs_nothing_and_draws_its_cluster(chromium: Chromium, bundle: Path) -> None:
    page = page_of(bundle)
    chromium.open(page)
    assert chromium.logged == []
    assert [url for url in chromium.requested if not url.startswith("data:")] == [page.as_uri()]
    assert chromium.evaluate("document.querySelectorAll('#topology .node').length") >= 3


def test_what_the_reports_are_named_after_is_in_them() -> None:
    words = {
        "valid": ["<h1>", "<span>Valid</span>", "f1 "],
        "zombie-leader": ["<span>Invalid</span>", "<code>zombie-leader</code>"],
        "lost-writes": ["<span>Invalid</span>", "<code>lost-write</code>"],
        "transaction-cycle": ["<code>G-single</code>", 'aria-label="Cycle of'],
    }
    for name, wanted in words.items():
        page = (GALLERY / f"{name}.html").read_text()
        assert [word for word in wanted if word not in page] == [], name


@pytest.mark.slow
def test_all_reports_of_a_folder_are_written_anew(tmp_path: Path) -> None:
    bundle = GALLERY / "transaction-cycle.tar.xz"
    (tmp_path / bundle.name).write_bytes(bundle.read_bytes())
    main(tmp_path)
    assert (tmp_path / "transaction-cycle.html").read_bytes() == page_of(bundle).read_bytes()
