"""Advancing runs: what has happened to them becomes the next steps, under the run's lock."""
