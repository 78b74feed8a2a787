"""The alerter: judges events by the alert rules, counts alerts and plans notices.

A stage of the recorder process, called again after the seconds it returns. Counting and the
cursor move in one transaction. Toasts and wake-ups come after the commit; a lost one does no harm,
because the rows hold everything.
"""

from __future__ import annotations

from uuid import UUID

from events.outbox import OfTenants, Recorded, consume
from executions.ledger.task_targets import Ended, count_targets
from executions.loop.clocks import database_now
from notifications.conditions import Conditions
from notifications.failures import FAILED, SUCCEEDED
from notifications.judging import NAMES, judge, tenants_with_shares
from notifications.late_starts import JudgedTenants
from notifications.live import publish_alert, publish_topics
from notifications.notices import Notice, plan_due_notices, seconds_until_due
from notifications.presentation import severity_of
from notifications.services.deliveries import wake_due_deliveries

CONSUMER = "alerter"
#: Events per transaction; few of them are failures, except in a burst of failures.
BATCH = 10_000
#: The same where successes are judged, too: a row of them may have hundreds.
BATCH_WITH_ENDS = 500
_IDLE_SECONDS = 2.0
#: Toasts per pass; the list shows the other alerts.
_TOASTS = 3


class Alerter:
    """Turns events into alerts and alerts into deliveries; any number may run."""

    def __init__(self) -> None:
        self._conditions = Conditions(CONSUMER)
        self._with_targets = JudgedTenants()
        #: Those of which successes and failures alike are read, as counts of targets need them.
        self._counted: set[UUID] = set()
        # Until it is known: after an outage the first batch is a full one.
        self._batch = BATCH_WITH_ENDS

    def run_once(self) -> float:
        """Count one batch of events, plan due notices; return the seconds until the next pass."""
        besides = OfTenants((SUCCEEDED,), self._tenants)
        batch = self._batch
        read = consume(CONSUMER, batch, self._judge, names=NAMES, besides=besides)
        self._conditions.look()
        notices = plan_due_notices()
        if notices:
            _show(notices)
            wake_due_deliveries()
        if read >= batch:
            return 0.0
        wait = seconds_until_due()
        return _IDLE_SECONDS if wait is None else min(_IDLE_SECONDS, wait)

    def _judge(self, events: list[Recorded]) -> None:
        judge(events, database_now())
        count_targets(
            [
                Ended(one.subject_id, one.tenant_id, one.task_id, one.at)
                for one in events
                if one.name in (SUCCEEDED, FAILED)
                and one.task_id is not None
                and one.tenant_id in self._counted
            ]
        )

    def _tenants(self) -> set[UUID]:
        """Return the tenants whose successes are judged."""
        self._counted = self._with_targets.ids()
        found = self._counted.union(tenants_with_shares())
        self._batch = BATCH_WITH_ENDS if found else BATCH
        return found


def _show(notices: list[Notice]) -> None:
    for notice in [notice for notice in notices if notice.on_console][:_TOASTS]:
        alert = notice.alert
        publish_alert(
            alert.tenant_id,
            id=alert.id,
            severity=severity_of(alert),
            title=alert.title,
            url=f"/alerts/{alert.id}",
        )
    for tenant_id in {notice.alert.tenant_id for notice in notices}:
        publish_topics(tenant_id, ["alerts"])
