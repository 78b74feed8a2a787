"""Starts many runs of one workflow in one transaction, as a program beside the scheduler may.

A program of its own, which is given the workflow's id and how many runs; its DATA_DIR names the
installation. The peers' runs are started by the process that has their library as well.
"""

from __future__ import annotations

import sys
from uuid import UUID

import django


def main(workflow_id: UUID, count: int) -> None:
    """Start the runs, each with its number as input."""
    from django.db import transaction

    from shared.actor import COMMAND
    from tasks.models import Task
    from workflows.launching import start_run

    tenant_id = Task.objects.values_list("tenant_id", flat=True).get(pk=workflow_id)
    with transaction.atomic():
        for run in range(count):
            start_run(tenant_id, workflow_id, {"run": run}, actor=COMMAND)


if __name__ == "__main__":
    django.setup()
    main(UUID(sys.argv[1]), int(sys.argv[2]))
