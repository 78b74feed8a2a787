"""Standing pauses as tests begin and end them: by the test's actor."""

from __future__ import annotations

from typing import Any

from executions.changes.pauses import Wanted, create_pause, end_pause
from tasks.models import Pause
from tenants.models import Tenant
from tests.factories import ACTOR


def stand(tenant: Tenant, scope: str = "label", value: str = "team:billing", **terms: Any) -> Pause:
    return create_pause(tenant.id, Wanted(scope, value, **terms), actor=ACTOR)[0]


def end(pause: Pause) -> int:
    return end_pause(pause.tenant_id, pause.id, actor=ACTOR)[1]
