"""The report of a run or of a history: a page that explains itself, opens from disk and needs no network."""

from results.report.page import TEMPLATES, render_report, write_page, write_report
from results.report.reading.history_files import HistoryFile
from results.store.runs import REPORT_FILE

__all__ = ["REPORT_FILE", "TEMPLATES", "HistoryFile", "render_report", "write_page", "write_report"]
