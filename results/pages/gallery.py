"""Generates the reports in docs/gallery from the real runs that are stored there; `make docs` updates them.

A run is an archive ``NAME.tar.xz`` with its journals, its identity, and its verdict at the time of the run.
Its report is ``NAME.html``.
"""

import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from checkers.history.reading import read_history
from results.report import render_report
from results.store.runs import load_identity, load_verdict, write_whole

BUNDLE_SUFFIX = ".tar.xz"


def gallery_runs(folder: Path) -> list[Path]:
    """The archives of a gallery, by name."""
    return sorted(folder.glob(f"*{BUNDLE_SUFFIX}"))


def page_of(bundle: Path) -> Path:
    """Path of the report of an archive."""
    return bundle.with_name(bundle.name.removesuffix(BUNDLE_SUFFIX) + ".html")


def render_bundle(bundle: Path) -> bytes:
    """The report of an archive's run, rendered by this version of krucible.

    Raises:
        StoreError: the identity or the verdict can't be read.
        tarfile.TarError: the file is not an archive.
    """
    with TemporaryDirectory() as folder, tarfile.open(bundle) as archive:
        run = Path(folder)
        for member in archive:
            if (opened := archive.extractfile(member)) is not None:
                (run / Path(member.name).name).write_bytes(opened.read())
        page = render_report(read_history(run), load_verdict(run), load_identity(run))
        return page.encode("utf-8", "backslashreplace")


def main(folder: Path) -> None:
    """Write the reports of all archives in a folder."""
    for bundle in gallery_runs(folder):
        write_whole(page_of(bundle), render_bundle(bundle))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
