"""Faults of every kind, injected into a running installation, and a judge of what came of each."""
