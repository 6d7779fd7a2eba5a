"""What to try: one module per scenario, grouped by why it exists."""
