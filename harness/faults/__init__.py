"""Faults: injected, confirmed by a probe, healed, and confirmed to be gone."""
