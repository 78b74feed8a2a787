"""The executions app."""

from __future__ import annotations

from django.apps import AppConfig


class ExecutionsConfig(AppConfig):
    """The runtime: core loop, delivery, workers, attempts, retries, dead letters."""

    name = "executions"

    def ready(self) -> None:
        """Register the services that stop and resume the work of a tenant with its suspension."""
        from executions.changes import suspension
        from tenants.suspension import follow

        follow(suspension.begin, suspension.end)
