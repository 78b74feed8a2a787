"""Workflows: runs of graphs of steps on the ledger of executions."""
