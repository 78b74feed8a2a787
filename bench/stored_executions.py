"""Reads executions from the product's database.

The API lists a thousand executions a second, so reading a long run would take as long as the run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import psycopg
from psycopg.rows import dict_row

from operations.proof.oracle import to_text

_AT_ONCE = 10_000
_SINCE = """
SELECT id::text AS id, task_id::text AS task_id, status, reason, attempt,
    round(start_delay_ms::numeric, 3)::float8 AS start_delay_ms,
    floor(extract(epoch FROM scheduled_for) * 1000)::bigint AS at_ms
FROM executions
WHERE scheduled_for >= to_timestamp(%s / 1000.0)
"""


async def read(address: str, since_ms: int) -> AsyncIterator[dict[str, Any]]:
    """Yield each execution scheduled at or after ``since_ms``, in no order.

    Each has the fields that the judge compares, with the names and the form of the API.
    """
    async with (
        await psycopg.AsyncConnection.connect(address) as connection,
        connection.cursor("stored_executions", row_factory=dict_row) as rows,
    ):
        rows.itersize = _AT_ONCE
        await rows.execute(_SINCE, (since_ms,))
        async for row in rows:
            yield {**row, "scheduled_for": to_text(row["at_ms"]), "reason": row["reason"] or None}
