"""The report of one run: a page that explains itself, opens from disk and asks nothing of any network."""

from results.report.page import REPORT_FILE, render_report, write_report

__all__ = ["REPORT_FILE", "render_report", "write_report"]
