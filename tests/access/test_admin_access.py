"""Every page of the admin by every kind of visitor: who is refused, and that nothing changes."""

from __future__ import annotations

from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask
from psycopg import sql

from tenants.choices import Role
from tenants.models import Membership, SignIn, Tenant
from tests.access.admin_rights import (
    ENROL,
    FORMS,
    LOGIN,
    PAGES,
    REFUSED,
    SHOWN,
    VISITORS,
    Staff,
    answer,
)
from tests.access.stored_rows import StoredRows
from tests.access.world import World, undone
from tests.support.api import make_tenant
from tests.support.rows_of_every_table import put

pytestmark = pytest.mark.django_db

_MODELS: list[Any] = sorted(admin.site._registry, key=lambda one: str(one._meta.label))
#: Pages of the site itself, without a model.
_OF_THE_SITE = {
    *("index", "login", "logout", "password_change", "password_change_done", "autocomplete"),
    *("jsi18n", "view_on_site", "app_list"),
}


@pytest.fixture(scope="module")
def visitors(world: World) -> dict[str, tuple[Client, str]]:
    """Return a browser of each kind, with its cookies."""
    strict = make_tenant("Eta")
    Tenant.objects.filter(pk=strict.pk).update(second_factor_required=True)
    rights = Permission.objects.all()
    made = {}
    for kind, staff in VISITORS.items():
        user = User.objects.create_user(
            f"visitor: {kind}",
            is_staff="staff" in kind.split() or "superuser" in kind.split(),
            is_superuser="superuser" in kind.split(),
        )
        if staff.views:
            user.user_permissions.set(
                rights if staff.changes else rights.filter(codename__startswith="view_")
            )
        if "own" in kind:
            Membership.objects.create(user=user, tenant=world.tenant, role=Role.OWNER)
        if "enrol" in kind:
            Membership.objects.create(user=user, tenant=strict, role=Role.OWNER)
        made[kind] = _browser(kind, user)
    return made


def _browser(kind: str, user: User) -> tuple[Client, str]:
    client = Client(raise_request_exception=False)
    if kind != "no session":
        client.force_login(user)
    if "idle" in kind:
        long_ago = timezone.now() - timedelta(days=30)
        SignIn.objects.filter(user=user).update(seen_at=long_ago)
    User.objects.filter(pk=user.pk).update(
        is_active="not active" not in kind, is_staff=user.is_staff and "not staff" not in kind
    )
    return client, client.cookies.output(header="", sep=";")


@pytest.fixture(scope="module")
def rows(world: World) -> dict[Any, Any]:
    """Return a row of each model; of users and groups one without any rights."""
    own: dict[Any, Any] = {User: User.objects.create_user("plain"), Tenant: world.tenant}
    own[Group] = Group.objects.create(name="plain")
    own[CrontabSchedule] = CrontabSchedule.objects.create()
    own[IntervalSchedule] = IntervalSchedule.objects.create(every=1, period="days")
    own[PeriodicTask] = PeriodicTask.objects.create(name="plain", interval=own[IntervalSchedule])
    with connection.cursor() as cursor:
        # Rows are put as they are: what a trigger would say of them does not matter.
        cursor.execute("SET LOCAL session_replication_role = replica")
        for model in _MODELS:
            own.setdefault(model, _first(model) or _made(model, own))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    return own


def _first(model: Any) -> Any:
    return model._base_manager.order_by("pk").first()


def _made(model: Any, own: dict[Any, Any]) -> Any:
    """Put a row of the tenant into the model's table, that names rows which there are."""
    given = {}
    for one in _fields(model):
        if one.related_model and not one.null:
            named = one.related_model
            row = own.get(named) or _first(named) or _made(named, own)
            given[one.column] = row.pk
        elif one.primary_key and one.get_internal_type() in ("CharField", "TextField"):
            given[one.column] = "made"
        elif one.choices and not one.null and isinstance(one.flatchoices[0][0], str):
            given[one.column] = one.flatchoices[0][0]
    column = "tenant_id" if any(one.column == "tenant_id" for one in _fields(model)) else ""
    _drop_checks(model._meta.db_table)
    put(model._meta.db_table, column, own[Tenant].pk, **given)
    return _first(model)


def _drop_checks(table: str) -> None:
    """Let a row of the table say anything, until the transaction of the tests is rolled back."""
    checks = (
        "SELECT conname FROM pg_constraint WHERE contype = 'c' AND coninhcount = 0"
        " AND conrelid = %s::regclass"
    )
    with connection.cursor() as cursor:
        cursor.execute(checks, [table])
        for (name,) in cursor.fetchall():
            text = sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}")
            cursor.execute(text.format(sql.Identifier(table), sql.Identifier(name)))


def _fields(model: Any) -> Any:
    return model._meta.concrete_fields


def test_each_page_of_the_admin_is_in_the_table():
    registered = admin.site._registry
    patterns: list[Any] = [one for model in _MODELS for one in registered[model].get_urls()]
    names = {str(one.name).rpartition("_")[2] for one in patterns if one.name}
    of_site: list[Any] = admin.site.get_urls()
    site = {one.name for one in of_site if getattr(one, "name", None)}

    # A password has its own page, whose name has an underscore more.
    assert names - {"change"} == {*PAGES} - {"change", "password_change"}
    assert {one.name for one in patterns if "password" in str(one.pattern)} == {
        "auth_user_password_change"
    }
    assert site == _OF_THE_SITE
    assert {*FORMS} <= {model._meta.label for model in _MODELS}


def test_a_row_of_every_model_is_tried(rows: dict[Any, Any]):
    assert [model._meta.label for model, row in rows.items() if row is None] == []
    assert set(rows) == set(_MODELS)


@pytest.mark.parametrize("model", _MODELS, ids=lambda one: one._meta.label)
def test_a_visitor_is_answered_as_the_table_says_and_a_refusal_changes_nothing(
    stored: StoredRows,
    visitors: dict[str, tuple[Client, str]],
    rows: dict[Any, Any],
    model: Any,
):
    wrong: list[Any] = []
    for page, methods in PAGES.items():
        path = _path(model, page, rows[model])
        for method in methods if path else ():
            wanted = {
                kind: answer(model._meta.label, page, method, staff)
                for kind, staff in VISITORS.items()
            }
            refused = [kind for kind in wanted if wanted[kind] != SHOWN]
            # Each has a session of its own, and one look is enough behind all that are refused.
            for kinds in (refused, *([kind] for kind in wanted if kind not in refused)):
                with undone():
                    for kind in kinds:
                        got = _ask(visitors[kind], method, path)
                        if (said := _said(got)) != wanted[kind]:
                            wrong.append((kind, method, path, wanted[kind], said, got.status_code))
                    if kinds is refused and (changed := stored.changed()):
                        wrong.append((kinds, method, path, "no change", changed, 0))

    assert not wrong, "\n".join(map(str, wrong))


def _path(model: Any, page: str, row: Any) -> str:
    """Return the page's path; "" where the model has no such page."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    if page == "password_change" and model is not User:
        return ""
    if page in ("changelist", "add"):
        return reverse(name)
    return reverse(name, args=[row.pk])


def _ask(visitor: tuple[Client, str], method: str, path: str) -> Any:
    client, cookies = visitor
    client.cookies = SimpleCookie(cookies)
    return client.get(path) if method == "GET" else client.post(path, {})


def _said(got: Any) -> str:
    place = got.get("Location", "")
    if place.startswith("/admin/login/"):
        return LOGIN
    if place == "/account/second-factor":
        return ENROL
    return {403: REFUSED}.get(got.status_code, SHOWN if got.status_code < 400 else "error")


def test_the_table_has_each_kind_of_answer():
    found = {
        answer(model._meta.label, page, "POST", staff)
        for model in _MODELS
        for page in PAGES
        for staff in [*VISITORS.values(), Staff(views=True)]
    }

    assert found == {SHOWN, LOGIN, ENROL, REFUSED}
