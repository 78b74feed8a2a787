"""Signing in, out and in vain are in the log of the installation, by whichever door."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.one_time_login import login_path
from events.audit import INSTALLATION, verify
from events.models import AuditEntry
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"


@pytest.fixture
def ada():
    return User.objects.create_user("ada", password=PASSWORD)


def entries():
    found = AuditEntry.objects.filter(tenant_id=INSTALLATION, action__startswith="sign_in.")
    return [
        (one.action, one.actor, one.object_id, one.after, one.address)
        for one in found.order_by("sequence")
    ]


def sign_in(client, password=PASSWORD, name="ada"):
    return client.post("/login", {"username": name, "password": password})


def test_a_sign_in_and_its_end_have_entries(ada):
    client = Client()
    sign_in(client)
    client.post("/logout")

    me = f"user:{ada.pk}"
    assert entries() == [
        ("sign_in.succeeded", me, str(ada.pk), '{"by":"password"}', "127.0.0.1"),
        ("sign_in.ended", me, str(ada.pk), None, "127.0.0.1"),
    ]
    assert verify(INSTALLATION) == (2, None)


def test_a_link_is_named(ada):
    Client().get(login_path(ada))

    [(action, _, _, after, _)] = entries()
    assert (action, after) == ("sign_in.succeeded", '{"by":"link"}')


def test_failed_tries_have_few_entries_and_no_text_that_was_typed(ada):
    for _ in range(10):
        sign_in(Client(), "wrong")
    sign_in(Client(), PASSWORD, name="my-password-by-mistake")

    assert [(one[0], one[1], one[2], one[3]) for one in entries()] == [
        ("sign_in.failed", "anonymous", str(ada.pk), '{"tries":1}'),
        ("sign_in.failed", "anonymous", str(ada.pk), '{"tries":10}'),
        ("sign_in.failed", "anonymous", "unknown", '{"tries":1}'),
    ]
    assert "mistake" not in str(AuditEntry.objects.values_list())


def test_accounts_that_do_not_exist_count_as_one():
    for number in range(9):
        sign_in(Client(), name=f"nobody{number}")

    assert len(entries()) == 1


def test_all_failures_of_a_minute_together_have_a_bound(ada, monkeypatch):
    monkeypatch.setattr("tenants.services.sign_in_audit._MOST", 2)
    for number in range(5):
        sign_in(Client(REMOTE_ADDR=f"192.0.2.{number}"), "wrong")

    assert len(entries()) == 2


@pytest.mark.logs("failed_sign_in.not_counted", "sign_in_throttle.without_redis")
def test_while_redis_is_away_failures_have_no_entry_and_people_sign_in(ada, monkeypatch):
    monkeypatch.setattr("shared.windowed_counts.client", closed_redis)
    sign_in(Client(), "wrong")

    assert sign_in(Client()).status_code == 302
    assert [one[0] for one in entries()] == ["sign_in.succeeded"]


def test_the_admins_door_is_the_same(ada):
    ada.is_staff = ada.is_superuser = True
    ada.save()
    client = Client()
    client.post("/admin/login/", {"username": "ada", "password": PASSWORD}, follow=True)
    if "_auth_user_id" not in client.session:
        sign_in(client)
    client.post("/admin/logout/")

    assert [one[0] for one in entries()] == ["sign_in.succeeded", "sign_in.ended"]


def test_a_session_that_no_call_began_has_no_entry(ada):
    Client().force_login(ada)

    assert entries() == []
