"""``krucible check`` and ``krucible report``: judge histories again, including those of other harnesses."""
