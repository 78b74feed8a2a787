"""The answers that show pools, for every door."""

from __future__ import annotations

from typing import Any

from executions.external.pools import PoolView
from insight.presentation.execution import instant_or_none
from shared.instants import format_instant


def present_pool(view: PoolView) -> dict[str, Any]:
    """Return a pool as the API answers it; ``workers`` is null while Redis cannot be reached."""
    pool = view.pool
    return {
        "name": pool.name,
        "paused": pool.paused,
        "max_in_flight": pool.max_in_flight,
        "depth": view.depth,
        "oldest_due_at": instant_or_none(view.oldest_due_at),
        "in_flight": view.in_flight,
        "live_workers": None if view.workers is None else len(view.workers),
        "version": pool.version,
        "created_at": format_instant(pool.created_at),
        "updated_at": format_instant(pool.updated_at),
    }
