"""Sections of pages that tell of many runs: a heading, texts and a table, as Markdown and as HTML."""
