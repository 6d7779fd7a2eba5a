"""What must hold: pure functions from a history to a verdict."""
