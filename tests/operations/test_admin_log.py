from __future__ import annotations

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test.utils import CaptureQueriesContext

from operations.admin_log import blank_admin_log
from operations.tenant_erasure import erase_tenant
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, make_task

pytestmark = pytest.mark.django_db


def log(row: Task | Tenant) -> LogEntry:
    user, _ = User.objects.get_or_create(username="operator")
    return LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(type(row)),
        object_id=str(row.pk),
        object_repr=str(row),
        action_flag=CHANGE,
        change_message="changed the name",
    )


def shown() -> list[tuple[str, str]]:
    return list(LogEntry.objects.order_by("pk").values_list("object_repr", "change_message"))


def test_the_entries_of_a_tenant_and_its_rows_lose_their_names_and_no_others(alpha, beta):
    log(alpha), log(make_task(alpha)), log(beta)
    kept = log(make_task(beta))

    assert blank_admin_log(alpha) == 2

    message = "changed the name"
    assert shown() == [
        ("erased", ""),
        ("erased", ""),
        ("Beta", message),
        (str(kept.object_repr), message),
    ]
    assert blank_admin_log(alpha) == 0


def test_rows_are_found_by_their_keys_and_not_read_one_by_one(alpha):
    odd = log(make_task(alpha))
    LogEntry.objects.filter(pk=odd.pk).update(object_id="no key")
    log(make_task(alpha))

    with CaptureQueriesContext(connection) as ran:
        assert blank_admin_log(alpha) == 1

    [found] = [one["sql"] for one in ran if 'FROM "tasks"' in one["sql"]]
    assert '"tasks"."id" IN (' in found
    assert '"tasks"."id")::text' not in found


def test_an_erased_tenant_is_not_named_in_the_log_of_the_admin(alpha):
    log(alpha), log(make_task(alpha))

    erasure = erase_tenant(alpha, reason="contract ended", actor=ACTOR)

    assert shown() == [("erased", "")] * 2
    assert erasure.counts["admin_log"] == 2
