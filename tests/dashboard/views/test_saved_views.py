"""Views saved, changed and removed on the page of their list."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from tenants.models import Membership, SavedView
from tests.dashboard.asking import messages_of, said

NEW = {"list": "executions", "name": "Failed", "query": "status=FAILED&page=2"}


def only() -> SavedView:
    return SavedView.objects.get()


def test_a_viewer_keeps_a_personal_view(browser, alpha):
    client = browser(alpha, role="viewer")

    made = client.post("/views/create", {**NEW, "default": "on"})

    view = only()
    assert made["Location"] == f"/executions?status=FAILED&saved={view.pk}"
    assert (view.member, view.query, view.is_default) == (
        Membership.objects.get(tenant=alpha),
        "status=FAILED",
        True,
    )
    changed = {"name": "Other", "query": "q=x", "version": "1"}
    client.post(f"/views/{view.pk}/change", changed)
    view.refresh_from_db()
    assert (view.name, view.query, view.is_default, view.version) == ("Other", "q=x", False, 2)
    removed = client.post(f"/views/{view.pk}/remove")
    assert removed["Location"] == "/executions?saved=none"
    assert not SavedView.objects.exists()


def test_operators_share_views_and_viewers_only_open_them(browser, alpha):
    viewer = browser(alpha, role="viewer")
    assert "saved and changed by operators" in said(
        viewer, "/views/create", {**NEW, "shared": "on"}
    )
    assert not SavedView.objects.exists()

    browser(alpha, role="operator").post("/views/create", {**NEW, "shared": "on"})

    view = only()
    assert view.member is None
    viewer.post(f"/views/{view.pk}/change", {"name": "Taken", "query": ""})
    viewer.post(f"/views/{view.pk}/remove")
    view.refresh_from_db()
    assert view.name == "Failed"
    page = viewer.get(f"/executions?saved={view.pk}&status=FAILED").text
    assert "Remove this view" not in page
    assert "Share with all members" not in page


@pytest.mark.parametrize("verb", ["change", "remove"])
def test_views_of_others_are_not_there(browser, alpha, beta, verb):
    other = User.objects.create_user("another")
    member = Membership.objects.create(user=other, tenant=alpha, role="viewer")
    own = SavedView.objects.create(tenant=alpha, list="tasks", name="A", member=member)
    foreign = SavedView.objects.create(tenant=beta, list="tasks", name="B")
    client = browser(alpha)

    for view in (own, foreign):
        message = said(client, f"/views/{view.pk}/{verb}", {"name": "x", "query": ""})
        assert message == "There is no such saved view."
    assert sorted(SavedView.objects.values_list("name", flat=True)) == ["A", "B"]


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"query": "oops=1"},
        {"query": "filter=oops:1"},
        {"list": "workers"},
        {"name": "x" * 81},
    ],
)
def test_what_cannot_be_saved_is_said_and_nothing_is_saved(browser, alpha, given):
    answer = browser(alpha).post("/views/create", {**NEW, **given}, follow=True)

    [message] = messages_of(answer)
    assert message
    assert not SavedView.objects.exists()


def test_a_view_that_was_changed_meanwhile_stays(browser, alpha):
    client = browser(alpha)
    client.post("/views/create", NEW)
    view = only()
    SavedView.objects.update(version=2)

    client.post(f"/views/{view.pk}/change", {"name": "Late", "query": "", "version": "1"})

    assert only().name == "Failed"
