"""Makes text safe to show: removes control characters, and escapes it for Markdown and for trackers."""
