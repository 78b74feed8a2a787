"""What the statements of materialize and dispatch cost on a thousand due tasks, explained.

In this process, on the installation's database: due tasks are made, materialized and claimed in
one transaction that is rolled back, so that the installation's scheduler never sees them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import Cursor

from bench.creation import body_of
from bench.installation import InstallationError

DUE = 1000
LOOK = "look for what is due next"
#: What is measured together, and the statements that it is made of.
STAGES = {
    f"materialize {DUE} due tasks": (
        "materialize/take_plain",
        "materialize/lock_due_tasks",
        "materialize/insert_open",
        "materialize/advance_cursors",
    ),
    f"claim {DUE} due executions": ("dispatch/claim_due",),
    LOOK: ("materialize/next_due_task", "dispatch/next_due"),
}
_BAND = 1


class Costs:
    """Runs each watched statement explained, undoes that, and lets it run; sums up what it cost.

    ``ms`` are of planning and running, ``blocks`` those that were looked at; both by stage.
    """

    def __init__(self) -> None:
        from shared.sql import statement

        self._stages = {statement(name): stage for stage, names in STAGES.items() for name in names}
        self.ms: defaultdict[str, float] = defaultdict(float)
        self.blocks: Counter[str] = Counter()

    def __call__(self, execute: Any, sql: Any, parameters: Any, many: bool, context: Any) -> Any:
        """Stand around a statement, as Django's wrappers of execution do."""
        stage = self._stages.get(sql)
        if stage is not None:
            # Its parameters go beside it, as with the statement itself.
            with Cursor(context["connection"].connection) as cursor:
                cursor.execute("SAVEPOINT at_rest")
                said = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "
                cursor.execute(said + sql, parameters)
                [(answer,)] = cursor.fetchall()
                cursor.execute("ROLLBACK TO SAVEPOINT at_rest")
                cursor.execute("RELEASE SAVEPOINT at_rest")
            explained = json.loads(answer) if isinstance(answer, str | bytes) else answer
            ms, blocks = cost_of(explained[0])
            self.ms[stage] += ms
            self.blocks[stage] += blocks
        return execute(sql, parameters, many, context)


def cost_of(explained: Mapping[str, Any]) -> tuple[float, int]:
    """Return milliseconds and blocks of a statement from what EXPLAIN ANALYZE says of it."""
    plan = explained["Plan"]
    blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return explained["Planning Time"] + explained["Execution Time"], blocks


def one_pass(tenant_id: UUID) -> Costs:
    """Make a thousand tasks due, materialize and claim them, and undo it all; return the costs."""
    from django.db import connection, transaction

    from executions.loop.clocks import database_now
    from executions.materialize import stage as materialize

    costs, owner = Costs(), _as_owned()
    with transaction.atomic():
        now = database_now()
        common = _bounds(owner, now)
        _make_due(tenant_id, now)
        with connection.execute_wrapper(costs):
            while materialize.run_once(owner).done:
                pass
            claimed = _claim(common)
        transaction.set_rollback(True)
    if claimed != DUE:
        raise InstallationError(f"{claimed} of {DUE} due executions were claimed")
    # Its looks stepped over rows that it had just moved, not vacuumed yet: see one_look.
    del costs.ms[LOOK], costs.blocks[LOOK]
    return costs


def one_look() -> Costs:
    """Look for what is due next, as a scheduler does that has nothing to do."""
    from django.db import connection, transaction

    from executions.loop.clocks import database_now
    from executions.loop.lower_bounds import NEVER
    from shared.conf import conf
    from shared.sql import rows
    from shared.sql_arrays import of_moments
    from tasks.definition import WEBHOOK_POOL
    from wire.priorities import PRIORITIES

    costs, now = Costs(), database_now()
    common = _bounds(_as_owned(), now)
    ahead = timedelta(seconds=conf().horizon_seconds + conf().scheduler_sleep_seconds)
    with transaction.atomic(), connection.execute_wrapper(costs):
        held = {"partitions": common["partitions"], "until": now + ahead}
        rows("materialize/next_due_task", {**held, "since": NEVER})
        since = of_moments([NEVER] * len(PRIORITIES))
        rows("dispatch/next_due", {**common, "pools": [WEBHOOK_POOL], "since": since})
    return costs


def _bounds(owner: Any, now: datetime) -> dict[str, Any]:
    return {"partitions": owner.ready}


def _make_due(tenant_id: UUID, now: datetime) -> None:
    from shared.actor import COMMAND
    from tasks.creation import create_tasks
    from tasks.limits import current_limits
    from tasks.validation.bodies import parse_create

    limits = current_limits()
    due = {"schedule": {"run_at": now.isoformat()}}
    bodies = [{**body_of(number), **due} for number in range(DUE)]
    definitions = [parse_create(body, now=now, limits=limits) for body in bodies]
    create_tasks(tenant_id, definitions, actor=COMMAND, now=now)


def _claim(common: Mapping[str, Any]) -> int:
    """Claim as the dispatcher does where no destination bounds anything; return how many."""
    from executions import transitions
    from executions.dispatch.band_shares import priorities_of
    from executions.dispatch.destination_capacity import Pass
    from executions.loop.lower_bounds import NEVER
    from shared.conf import conf
    from shared.sql_arrays import of_moments
    from tasks.definition import WEBHOOK_POOL
    from wire.priorities import PRIORITIES

    claimed, _ = transitions.mark_queued(
        {
            **common,
            **Pass({}).parameters(WEBHOOK_POOL, _BAND),
            "pool": WEBHOOK_POOL,
            "priorities": priorities_of(_BAND),
            "oldest": 0,
            "eldest": [None],
            "since": of_moments([NEVER] * len(PRIORITIES)),
            "incarnation": "",
            "window": conf().release_seconds,
            "margin": conf().start_margin_seconds,
            "limit": DUE,
        }
    )
    return len(claimed)


def _as_owned() -> Any:
    """Return the partitions as the installation's only scheduler owns them now."""
    from executions.models import PartitionLease
    from executions.ownership.partitions import Partitions

    leases = list(PartitionLease.objects.standing())
    if len({lease.owner for lease in leases}) != 1:
        raise InstallationError("not one scheduler owns the partitions")
    found = Partitions(leases[0].owner)
    # No lease is taken: the scheduler's own are shown by statements that are undone.
    found._held = {lease.partition: lease.epoch for lease in leases}
    found._trusted_until = float("inf")
    return found
