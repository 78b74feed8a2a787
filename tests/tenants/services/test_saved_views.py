"""Saved views: whose they are, their limits, their one default."""

from __future__ import annotations

from typing import Any

import pytest

from events.models import AuditEntry
from shared.exceptions import (
    Conflict,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    VersionMismatch,
)
from tenants import list_queries
from tenants.models import Membership, SavedView, Tenant
from tenants.services import saved_views
from tenants.services.saved_views import (
    create_view,
    default_view,
    get_view,
    list_views,
    member_of,
    remove_view,
    update_view,
)
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha() -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def ada(alpha: Tenant) -> Membership:
    return make_member(alpha, "ada")


def make(
    tenant: Tenant, name: str = "Failed", member: int | None = None, **given: Any
) -> SavedView:
    fields: Any = {"list": "executions", "name": name, "query": "status=FAILED", **given}
    return create_view(tenant.id, fields, member=member, actor=ACTOR)


def test_a_member_sees_the_own_views_and_shared_ones(alpha, ada):
    bob = make_member(alpha, "bob")
    shared, own = make(alpha), make(alpha, member=ada.pk)
    make(alpha, member=bob.pk)
    make(make_tenant("Beta"), "Foreign")

    assert list_views(alpha.id, ada.pk) == [own, shared]
    assert list_views(alpha.id) == [shared]
    assert list_views(alpha.id, ada.pk, "tasks") == []
    with pytest.raises(NotFound):
        get_view(alpha.id, own.pk, bob.pk)
    with pytest.raises(NotFound):
        update_view(alpha.id, own.pk, {"name": "Mine now"}, member=bob.pk, actor=ACTOR)
    with pytest.raises(NotFound):
        remove_view(alpha.id, own.pk, member=None, actor=ACTOR)


def test_one_view_is_the_default_and_the_own_one_comes_first(alpha, ada):
    first = make(alpha, is_default=True)
    second = make(alpha, "Second", is_default=True)
    other = make(alpha, "Of tasks", list="tasks", is_default=True)

    first.refresh_from_db()
    other.refresh_from_db()
    assert (first.is_default, first.version, other.is_default) == (False, 2, True)
    assert default_view(list_views(alpha.id, ada.pk, "executions")) == second
    own = make(alpha, member=ada.pk, is_default=True)
    assert default_view(list_views(alpha.id, ada.pk, "executions")) == own
    assert default_view([first]) is None


def test_a_change_raises_the_version_and_nothing_new_changes_nothing(alpha):
    view = make(alpha)

    same = update_view(alpha.id, view.pk, {"name": "Failed"}, member=None, actor=ACTOR)
    changed = update_view(
        alpha.id, view.pk, {"query": ""}, member=None, actor=ACTOR, expected_version=1
    )

    assert (same.version, changed.version, changed.query, changed.name) == (1, 2, "", "Failed")
    with pytest.raises(VersionMismatch):
        remove_view(alpha.id, view.pk, member=None, actor=ACTOR, expected_version=1)
    with pytest.raises(InvalidInput):
        update_view(alpha.id, view.pk, {"list": "tasks"}, member=None, actor=ACTOR)
    remove_view(alpha.id, view.pk, member=None, actor=ACTOR, expected_version=2)
    actions = AuditEntry.objects.filter(tenant_id=alpha.id, object_kind="saved_view")
    assert list(actions.order_by("sequence").values_list("action", flat=True)) == [
        "saved_view.created",
        "saved_view.updated",
        "saved_view.removed",
    ]


def test_a_name_is_taken_once_by_list_and_owner(alpha, ada):
    make(alpha)
    make(alpha, member=ada.pk)
    make(alpha, list="tasks")

    with pytest.raises(Conflict) as refused:
        make(alpha)

    assert refused.value.code == "name_taken"


@pytest.mark.parametrize("whose", ["own", "shared"])
def test_the_number_of_views_is_limited(alpha, ada, whose, monkeypatch):
    monkeypatch.setattr(saved_views, "MOST_OWN", 1)
    monkeypatch.setattr(saved_views, "MOST_SHARED", 1)
    member = ada.pk if whose == "own" else None
    make(alpha, member=member)

    with pytest.raises(QuotaExceeded):
        make(alpha, "Another", member, list="tasks")


@pytest.mark.parametrize(
    "given",
    [
        {"list": "workers"},
        {"name": " "},
        {"name": "x" * 81},
        {"name": "a\nb"},
        {"name": "a\u202eb"},
        {"query": "q=" + "x" * 2000},
        {"query": "q=\x00"},
        {"query": "q=\ud800"},
    ],
)
def test_what_cannot_be_kept_is_refused(alpha, given):
    with pytest.raises(InvalidInput):
        make(alpha, **given)


def test_a_query_that_is_too_long_is_refused_unread(alpha, monkeypatch):
    read: list[str] = []
    monkeypatch.setattr(list_queries, "read", lambda of, query: read.append(query))

    with pytest.raises(InvalidInput):
        make(alpha, query="&".join(f"n{number}=1" for number in range(1000)))

    assert not read


def test_views_go_with_their_member(alpha, ada):
    make(alpha, member=ada.pk)
    shared = make(alpha)

    ada.delete()

    assert list(SavedView.objects.all()) == [shared]


def test_only_a_member_of_the_tenant_is_one(alpha, ada):
    assert member_of(alpha.id, ada.pk) == ada.pk
    with pytest.raises(InvalidInput):
        member_of(make_tenant("Beta").id, ada.pk)
