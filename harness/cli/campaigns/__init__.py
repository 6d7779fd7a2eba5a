"""Commands that make many runs and compare them: qualify, sensitivity, track-record."""
