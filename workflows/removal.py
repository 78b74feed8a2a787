"""Removes what only runs under way have, of a tenant that is removed.

Those tables have no models: a row that stayed would be due for ever, and no run would take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from shared.sql import rows, run


def remove_of_tenant(tenant_id: UUID) -> None:
    """Remove waits, fan-outs, inbox rows and signals of the tenant; call it before its runs go."""
    wanted = {"tenant": tenant_id}
    with transaction.atomic():
        # First, as every transaction that changes what runs have: it would wait for an advance that
        # waits for it.
        rows("workflow_ends/lock_of_tenant", wanted)
        run("workflow_ends/remove_of_tenant", wanted)


def remove_inbox_of(execution_ids: Sequence[UUID]) -> None:
    """Remove what locked executions have told their runs, which may be gone already.

    An end that was recorded while the runs went has told one of them.
    """
    run("workflow_ends/remove_inbox_of", {"executions": list(execution_ids)})
