from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import pytest

from events.models import AuditEntry
from executions.loop.clocks import database_now
from notifications.models import MaintenanceWindow
from notifications.services import maintenance as module
from notifications.services.maintenance import WindowFields, create_window, end_window, get_window
from shared.exceptions import InvalidInput, NotFound, QuotaExceeded
from shared.ids import new_id
from tests.factories import ACTOR, daily, make_task, make_tenant

pytestmark = pytest.mark.django_db

WEEKLY: dict[str, Any] = {"weekdays": [1], "from_time": time(1), "to_time": time(2)}
HOUR = timedelta(hours=1)


def test_a_window_is_made_and_ended_with_its_audit_entries() -> None:
    tenant = make_tenant()

    made = create_window(
        tenant.id, WindowFields("Nights", weekdays=[7, 1, 7], **_clocks()), actor=ACTOR
    )
    assert (made.weekdays, made.begins_at, made.created_by) == ([1, 7], None, "test")
    end_window(tenant.id, made.pk, actor=ACTOR)

    assert not MaintenanceWindow.objects.exists()
    entries = AuditEntry.objects.filter(tenant_id=tenant.id, object_kind="maintenance_window")
    assert set(entries.values_list("action", flat=True)) == {
        "maintenance_window.created",
        "maintenance_window.ended",
    }


def _clocks() -> dict[str, Any]:
    return {"from_time": time(1), "to_time": time(2)}


@pytest.mark.parametrize(
    ("given", "pointers"),
    [
        ({}, {"#/ends_at"}),
        ({"ends": -HOUR}, {"#/ends_at"}),
        ({"begins": HOUR, "ends": HOUR}, {"#/ends_at"}),
        ({"ends": timedelta(days=32)}, {"#/ends_at"}),
        ({"ends": HOUR, "from_time": time(1)}, {"#/from_time"}),
        ({"weekdays": [0], **_clocks()}, {"#/weekdays"}),
        ({"weekdays": [1]}, {"#/from_time", "#/to_time"}),
        ({"weekdays": [1], "from_time": time(1), "to_time": time(1)}, {"#/to_time"}),
        ({**WEEKLY, "ends": HOUR}, {"#/ends_at"}),
        ({**WEEKLY, "timezone": "Mars/Olympus"}, {"#/timezone"}),
        ({"ends": HOUR, "timezone": "x" * 64}, {"#/timezone"}),
        ({**WEEKLY, "scope": "oops"}, {"#/scope"}),
        ({**WEEKLY, "value": "x"}, {"#/value"}),
        ({**WEEKLY, "scope": "label", "value": "oops"}, {"#/value"}),
        ({**WEEKLY, "scope": "task", "value": "oops"}, {"#/value"}),
        ({**WEEKLY, "scope": "task", "value": str(new_id())}, {"#/value"}),
        ({**WEEKLY, "scope": "rule", "value": str(new_id())}, {"#/value"}),
        ({**WEEKLY, "name": "", "scope": "label", "value": ""}, {"#/name", "#/value"}),
    ],
)
def test_bad_fields_are_refused_all_at_once(given: dict[str, Any], pointers: set[str]) -> None:
    now, fields = database_now(), {"name": "Upgrade", **given}
    for name in ("begins", "ends"):
        if name in fields:
            fields[f"{name}_at"] = now + fields.pop(name)

    with pytest.raises(InvalidInput) as refused:
        create_window(make_tenant().id, WindowFields(**fields), actor=ACTOR)

    assert {one.pointer for one in refused.value.errors} == pointers
    assert not MaintenanceWindow.objects.exists()


def test_neither_tasks_nor_windows_of_another_tenant_are_known() -> None:
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    task = make_task(beta, daily())
    wanted = WindowFields("x", scope="task", value=str(task.id).upper(), **WEEKLY)
    made = create_window(beta.id, wanted, actor=ACTOR)
    assert made.value == str(task.id)

    with pytest.raises(InvalidInput):
        create_window(alpha.id, wanted, actor=ACTOR)
    for call in (get_window, lambda *given: end_window(*given, actor=ACTOR)):
        with pytest.raises(NotFound):
            call(alpha.id, made.pk)


def test_windows_are_bounded_and_those_long_over_make_room(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MOST", 1)
    tenant = make_tenant()
    create_window(tenant.id, WindowFields("a", ends_at=database_now() + HOUR), actor=ACTOR)
    with pytest.raises(QuotaExceeded):
        create_window(tenant.id, WindowFields("b", **WEEKLY), actor=ACTOR)

    long_ago = database_now() - timedelta(days=8)
    MaintenanceWindow.objects.update(begins_at=long_ago - HOUR, ends_at=long_ago)
    create_window(tenant.id, WindowFields("b", **WEEKLY), actor=ACTOR)

    assert list(MaintenanceWindow.objects.values_list("name", flat=True)) == ["b"]
