"""``krucible check`` and ``krucible report``: histories judged again, those of other harnesses included."""
