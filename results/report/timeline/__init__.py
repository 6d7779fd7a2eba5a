"""The timeline: lanes over one time axis, and what each of them draws."""
