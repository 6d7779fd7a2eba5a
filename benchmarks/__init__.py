"""Measures what krucible promises about speed; each module is run by itself."""
