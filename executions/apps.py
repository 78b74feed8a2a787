"""The executions app."""

from __future__ import annotations

from django.apps import AppConfig


class ExecutionsConfig(AppConfig):
    """The runtime: core loop, delivery, workers, attempts, retries, dead letters."""

    name = "executions"

    def ready(self) -> None:
        """Register what stops and resumes the work of a tenant, and what makes days for the web."""
        from executions.broker import ask_for_days
        from executions.changes import suspension
        from executions.ledger.days import days_wanted
        from tenants.suspension import follow

        follow(suspension.begin, suspension.end)
        days_wanted.connect(ask_for_days)
