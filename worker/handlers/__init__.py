"""Runs the handlers of a deployment, each in a child process.

Deployments import ``handler`` and ``Permanent`` from ``executions.handlers``.
"""
