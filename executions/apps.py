"""The executions app."""

from __future__ import annotations

from django.apps import AppConfig


class ExecutionsConfig(AppConfig):
    """The runtime: core loop, delivery, workers, attempts, retries, dead letters."""

    name = "executions"
