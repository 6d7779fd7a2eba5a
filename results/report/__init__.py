"""The report of one run: a page that explains itself, opens from disk and needs no network."""

from results.report.page import TEMPLATES, render_report, write_report
from results.store.runs import REPORT_FILE

__all__ = ["REPORT_FILE", "TEMPLATES", "render_report", "write_report"]
