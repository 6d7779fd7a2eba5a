"""What is computed from the tables of runs: functions from frames to frames, none of them row by row."""
