"""Text that is safe to show: cleaned of control characters, and marked up for Markdown and for trackers.

Every package that renders a page, a message or a ticket uses it.
"""
