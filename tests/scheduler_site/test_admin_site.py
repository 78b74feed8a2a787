"""The admin as a whole: every model is there, every page answers, nothing sealed is shown."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import models

from events.models import EventCursor
from executions.loop.clocks import database_now
from executions.models import (
    BulkJob,
    Destination,
    Erasure,
    ObjectiveCount,
    Pool,
    SchedulerNode,
    ShareMinute,
    UnownedStretch,
    WorkerMinute,
)
from notifications.models import (
    Alert,
    AlertMute,
    AlertRule,
    AlertRuleChannel,
    AlertTask,
    Delivery,
    EventSubscription,
    MaintenanceWindow,
    NotificationPreference,
    PushSubscription,
    RuleMinute,
)
from shared.admin import ProductAdmin
from shared.encryption import seal
from shared.sql import run
from tasks.models import Calendar, NamedSecret, Pause, SecretUse, ZoneMove, ZoneRules
from tenants.models import (
    CalendarFeed,
    IdempotencyRecord,
    Identity,
    Membership,
    RecoveryCode,
    Resealing,
    SavedView,
    SecondFactor,
    Tenant,
)
from tenants.services import set_member
from tenants.services.sign_ins import begin_sign_in
from tests.architecture import tree
from tests.factories import (
    ACTOR,
    daily,
    make_dead_letter,
    make_execution,
    make_key,
    make_task,
    make_tenant,
    once,
)
from tests.support.admin import AdminBrowser, make_admin
from tests.support.alert_channels import make_channel
from tests.support.invitations import invite
from tests.support.workflows import begin_run, calls, make_workflow, work

pytestmark = pytest.mark.django_db

CANARY = "canary-4711"
_OURS = [
    model
    for app in tree.production_packages()
    if app in apps.app_configs
    for model in apps.get_app_config(app).get_models()
]
_REGISTERED = [model for model in _OURS if admin.site.is_registered(model)]
_BY_DJANGO = [User, *(model for model in admin.site._registry if model not in _OURS)]


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


def _fill_workflows_and_key(tenant: Tenant) -> None:
    invite(tenant)
    make_key(tenant)
    flow = make_workflow(tenant, [calls("a", payload=CANARY)])
    work(begin_run(flow, CANARY), lambda key, item: ("SUCCEEDED", CANARY))
    begin_run(flow, CANARY)


def _fill_accounts() -> None:
    sealed = seal(CANARY.encode(), b"test")
    user = User.objects.create_user("with-factor")
    begin_sign_in(user.pk, address="192.0.2.1", user_agent="test")
    factor = SecondFactor.objects.create(user=user, sealed_secret=sealed)
    RecoveryCode.objects.create(factor=factor, code_hash=CANARY.encode())


@pytest.fixture
def full(browser: AdminBrowser) -> None:
    """Fill every model with a row; whatever is secret holds the canary."""
    alpha = make_tenant("Alpha")
    now = database_now()
    body = once(
        payload={"card": CANARY},
        target={
            "url": "https://api.example.com/reports",
            "headers": {"Authorization": CANARY, "X-Api-Key": CANARY},
        },
    )
    _fill_workflows_and_key(alpha)
    _fill_accounts()
    execution = make_execution(alpha, "FAILED", body)
    make_dead_letter(alpha, body)
    member = set_member(alpha.id, browser.user.pk, "owner", actor=ACTOR)
    SchedulerNode.objects.create(id=uuid4(), name="node", pid=1)
    read = {"xid": 1, "event_id": uuid4(), "read_at": now}
    EventCursor.objects.get_or_create(consumer="test", defaults=read)
    sealed = seal(CANARY.encode(), b"test")
    IdempotencyRecord.objects.create(
        tenant=alpha,
        key="k",
        fingerprint=b"f",
        status=200,
        sealed_body=sealed,
        headers={"X-Secret": CANARY},
        expires_at=now + timedelta(days=1),
    )
    BulkJob.objects.create(
        tenant=alpha, kind="tasks", action="pause", total=0, next_at=now, created_by="test"
    )
    Calendar.objects.create(tenant=alpha, name="holidays")
    _fill_delivery(alpha, now)
    Pause.objects.create(tenant=alpha, scope="label", value="team:billing", created_by="test")
    make_task(alpha, daily())  # with a cursor
    ZoneRules.objects.update_or_create(
        name="Europe/Berlin", defaults={"release": "2026a", "transitions": [[0, 3600]]}
    )
    ZoneMove.objects.create(
        tenant=alpha,
        task_id=execution.task_id,
        zone="Europe/Berlin",
        from_release="2026a",
        to_release="2026b",
        moved=[],
        moved_count=0,
    )
    _fill_notifications(alpha, execution, member, sealed)
    _fill_rules_and_receivers(alpha, now, sealed)


def _fill_delivery(tenant: Any, now: Any) -> None:
    Destination.objects.create(tenant=tenant, host="api.example.com")
    Erasure.objects.create(tenant_id=tenant.pk, object_id=uuid4(), reason="asked", begun_by="test")
    Pool.objects.create(tenant=tenant, name="reports")
    WorkerMinute.objects.create(worker="worker-1@host:1", minute=now, pool="default")
    ObjectiveCount.objects.create(
        tenant_id=tenant.pk, at=now, objective="api", cause="server_error", counted=9, bad=1
    )
    UnownedStretch.objects.create(partition=1, since=now - timedelta(minutes=1), until=now)
    run("workers/roll_up", {"now": now + timedelta(hours=1)})


def _fill_notifications(tenant: Any, execution: Any, member: Any, sealed: bytes) -> None:
    now = database_now()
    alert = Alert.objects.create(
        tenant=tenant,
        kind="final_failure",
        error_signature="http_status 500",
        cause="500",
        task_id=execution.task_id,
        task_name="Once",
        execution_id=execution.pk,
        first_at=now,
        last_at=now,
    )
    AlertTask.objects.create(alert=alert, task_id=execution.task_id)
    AlertMute.objects.create(alert=alert, membership=member, until=now)
    Delivery.objects.create(
        alert=alert, membership=member, channel="email", notice_number=1, status="SENT"
    )
    NotificationPreference.objects.create(membership=member)
    Resealing.objects.create(tenant=member.tenant, generation=1, begun_by="test")
    ShareMinute.objects.create(
        minute=now, pool="default", tenant_id=member.tenant_id, due=1, received=1, oldest_wait=0
    )
    Identity.objects.create(
        user=member.user, issuer="https://id.example.com", subject="1", created_at=now
    )
    secret = NamedSecret.objects.create(tenant=member.tenant, name="token", sealed=sealed)
    SecretUse.objects.create(task_id=execution.task_id, secret=secret)
    PushSubscription.objects.create(
        membership=member,
        endpoint=f"https://push.example.com/{CANARY}",
        p256dh=CANARY,
        sealed_auth=sealed,
    )


def _fill_rules_and_receivers(tenant: Tenant, now: Any, sealed: bytes) -> None:
    SavedView.objects.create(tenant=tenant, list="tasks", name="Nightly")
    CalendarFeed.objects.create(
        tenant=tenant,
        member=Membership.objects.filter(tenant=tenant).earliest("pk"),
        name="Nightly",
        timezone="UTC",
        token_hash=CANARY.encode(),
    )
    rule = AlertRule.objects.create(tenant=tenant, name="Late", kind="late_start")
    MaintenanceWindow.objects.create(
        tenant=tenant, name="Upgrade", scope="all", begins_at=now, ends_at=now
    )
    RuleMinute.objects.create(rule=rule, minute=now, ended=2, failed=1)
    channel = make_channel(tenant, url=f"https://hooks.example.com/{CANARY}")
    AlertRuleChannel.objects.create(channel=channel, rule=rule)
    EventSubscription.objects.create(
        tenant=tenant,
        origin="https://events.example.com",
        sealed_url=sealed,
        types=["task.changed"],
        xid=1,
        event_id=uuid4(),
        read_at=now,
    )


def test_each_model_has_an_english_plural():
    plurals = {str(model._meta.verbose_name_plural) for model in _OURS}

    assert not [one for one in plurals if re.search(r"([^aeiou]y|ch|sh|x|ss)s$", one)]


def test_every_model_of_the_product_is_registered():
    # Django refuses models with a key of several columns.
    composite = {m for m in _OURS if isinstance(m._meta.pk, models.CompositePrimaryKey)}

    missing = {m for m in _OURS if not admin.site.is_registered(m)} - composite

    assert not missing
    assert {model.__name__ for model in composite} <= {
        "BulkJobItem",
        "MinuteStat",
        "ObjectiveHour",
        "TargetDay",
        "TaskBudget",
        "TaskDependency",
        "UsageDay",
    }


def test_every_door_is_bounded():
    for model in _REGISTERED:
        door = admin.site._registry[model]
        assert isinstance(door, ProductAdmin), model
        assert not door.show_full_result_count
        assert not door.date_hierarchy
        assert not door.list_select_related


def test_every_page_answers_and_shows_nothing_sealed(browser, full):
    seen = 0
    for model in _REGISTERED:
        rows = model._default_manager.all()[:3]
        assert rows, f"no row of {model.__name__}"
        for answer in (browser.list(model), *(browser.page(row) for row in rows)):
            assert answer.status_code == 200, model
            page = answer.content.decode()
            assert CANARY not in page, model
            assert "whsec_" not in page, model
            _assert_nothing_inline(page)
            seen += 1
    assert seen > 2 * len(_REGISTERED)


def test_djangos_own_pages_answer_too(browser):
    for model in _BY_DJANGO:
        assert browser.list(model).status_code == 200, model
    for path in ("/admin/", "/admin/auth/user/add/", "/admin/tenants/apikey/add/"):
        answer = browser.client.get(path)
        assert answer.status_code == 200
        _assert_nothing_inline(answer.content.decode())


def test_every_list_leads_back_to_the_console(browser):
    page = browser.client.get("/admin/").content.decode()

    assert '<a href="/">Back to the console</a>' in page
    assert "/static/css/admin.css" in page


def _assert_nothing_inline(page: str) -> None:
    scripts = re.findall(r"<script(?![^>]*\bsrc=)([^>]*)>", page)
    assert all('type="application/json"' in attributes for attributes in scripts), scripts
    assert "<style" not in page
    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", page)
