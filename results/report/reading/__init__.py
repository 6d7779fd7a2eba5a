"""Reads calls, time spans, leaders and texts of values from a history."""
