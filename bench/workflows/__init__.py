"""Measures workflows, and breaks them: run ``python -m bench.workflows``."""
