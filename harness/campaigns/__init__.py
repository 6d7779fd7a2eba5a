"""Makes, judges, stores, resumes and reports runs for a command or a session of pytest."""
