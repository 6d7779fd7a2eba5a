"""The run store: finds runs on disk by their names, reads and writes their verdicts, links to their reports.

The harness saves what a run yields with it. All rooms that read runs use it.
"""
