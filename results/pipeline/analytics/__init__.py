"""Computes tables from the tables of runs: functions from frames to frames, never row by row."""
