from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import hashers
from django.contrib.auth.models import Group, Permission, User
from django.db import connection

from events.audit import INSTALLATION, verify
from events.models import AuditEntry
from shared.actor import COMMAND
from shared.exceptions import Conflict
from tenants.models import Membership
from tenants.services import accounts
from tenants.services.accounts import (
    change_password,
    describe_account,
    may_change_account,
    record_change,
    record_password,
)

pytestmark = pytest.mark.django_db


def person(name: str, *codenames: str, **fields: Any) -> User:
    made = User.objects.create_user(name, is_staff=True, **fields)
    made.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return User.objects.get(pk=made.pk)


def test_an_account_that_may_do_no_more_may_be_changed():
    helper = person("helper", "change_user", "view_task")

    assert may_change_account(helper, person("plain"))
    assert may_change_account(helper, person("peer", "view_task"))
    assert may_change_account(helper, helper)


@pytest.mark.parametrize("active", [True, False])
def test_an_account_that_may_do_more_may_not_be_changed(active):
    helper = person("helper", "change_user")
    root = person("root", is_superuser=True, is_active=active)
    maker = person("maker", "add_apikey", is_active=active)
    grouped = person("grouped", is_active=active)
    group = Group.objects.create(name="makers")
    group.permissions.set(Permission.objects.filter(codename="add_apikey"))
    grouped.groups.add(group)

    assert not any(may_change_account(helper, one) for one in (root, maker, grouped))
    assert may_change_account(person("other-root", is_superuser=True), root)


def test_a_members_account_is_changed_by_who_may_give_roles(alpha):
    member = person("member")
    Membership.objects.create(user=member, tenant=alpha, role="viewer")

    assert not may_change_account(person("helper", "change_user"), member)
    assert may_change_account(person("giver", "change_user", "change_membership"), member)


def test_what_differs_is_recorded_in_the_chain_of_the_installation():
    account = person("ada", email="ada@example.com")
    before = describe_account(account)
    account.is_superuser = True

    record_change("user", account.pk, before, before, actor=COMMAND)
    record_change("user", account.pk, before, describe_account(account), actor=COMMAND)
    record_password(account, actor=COMMAND)

    changed, password = AuditEntry.objects.filter(tenant_id=INSTALLATION).order_by("sequence")
    assert (changed.action, changed.object_id) == ("user.changed", str(account.pk))
    assert (changed.before, changed.after) == ('{"is_superuser":false}', '{"is_superuser":true}')
    assert password.action == "user.password_set"
    assert verify(INSTALLATION) == (2, None)


@pytest.mark.django_db(transaction=True)
def test_a_password_is_hashed_while_no_transaction_holds_the_account(monkeypatch):
    ada = User.objects.create_user("ada", password="her old password")
    within = []

    def hash_slowly(password: str) -> str:
        within.append(connection.in_atomic_block)
        return hashers.make_password(password)

    monkeypatch.setattr(accounts, "make_password", hash_slowly)
    changed = change_password(ada, "correct horse battery", actor=COMMAND)

    assert within == [False]
    assert changed.check_password("correct horse battery")


def test_a_password_that_another_session_has_changed_meanwhile_stays():
    ada = User.objects.create_user("ada", password="her old password")
    seen = User.objects.get(pk=ada.pk)
    change_password(ada, "correct horse battery", actor=COMMAND)

    with pytest.raises(Conflict):
        change_password(seen, "another long password", actor=COMMAND)
    assert User.objects.get(pk=ada.pk).check_password("correct horse battery")
