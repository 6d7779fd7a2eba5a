"""Many runs that belong together."""
