"""Links from a page to the reports of runs."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from results.store.runs import REPORT_FILE


def reports_from(page_folder: Path, folders: Sequence[Path]) -> dict[str, str]:
    """Relative address of each run's report, by the name of the run's folder.

    Names of several runs, and runs without a report, are left out.
    """
    times = Counter(folder.name for folder in folders)
    reports = [folder / REPORT_FILE for folder in folders if times[folder.name] == 1]
    return {
        report.parent.name: quote(os.path.relpath(report.resolve(), page_folder.resolve()))
        for report in reports
        if report.is_file()
    }
