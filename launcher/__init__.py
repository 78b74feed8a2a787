"""Starts, watches and stops the processes of Punctual: ``up``, ``down``, ``ps`` and ``run_*``."""
