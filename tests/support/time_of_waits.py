"""The waits of a run whose time is up, without waiting for it."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from executions.loop.clocks import database_now


def let_waits_end(run_id: UUID, kind: str) -> None:
    """Let the waits of this kind end now; ``run`` is the deadline of the run itself."""
    chosen = "step = 0" if kind == "run" else "step > 0 AND kind = %s"
    parameters = [database_now(), run_id, *(() if kind == "run" else (kind,))]
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE workflow_waits SET due_at = %s WHERE run_id = %s AND {chosen}",
            parameters,
        )
