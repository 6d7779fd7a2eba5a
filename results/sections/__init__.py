"""Sections of pages that report many runs: a heading, texts and a table, as Markdown and as HTML."""
