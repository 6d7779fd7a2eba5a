"""What runs found: the store of runs, texts and reports."""
