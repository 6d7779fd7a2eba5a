"""The timeline: lanes over one time axis, and the content of each lane."""
