"""Text that is safe to show: cleaned of control characters, and marked up for Markdown and for trackers.

Every room that renders a page, a message or a ticket uses it.
"""
