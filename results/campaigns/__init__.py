"""Summaries of many runs, and their pages in Markdown, in HTML and for a CI job."""
