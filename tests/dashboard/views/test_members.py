from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tenants.models import Invitation, Membership
from tests.support.invitations import ADDRESS, invite, join

pytestmark = pytest.mark.django_db
PAGE = "/settings/members"


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch):
    monkeypatch.setattr("notifications.services.invitations.wake_invitation", lambda offer: None)


def own(role):
    return Membership.objects.get(user__username="user0", role=role)


def test_admins_see_members_and_open_invitations(browser, alpha, beta):
    admin = browser(alpha, role="admin")
    join(alpha, "bea", "viewer", sees_payloads=False)
    join(beta, "eve", "owner")
    invite(alpha, role="operator")

    shown = admin.get(PAGE).text

    assert "bea@example.com" in shown
    assert ADDRESS in shown
    assert "eve@example.com" not in shown
    assert "Transfer ownership" not in shown
    assert '<option value="owner"' not in shown
    assert PAGE in admin.get("/settings").text


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_those_below_admins_have_no_such_page(browser, alpha, role):
    low = browser(alpha, role=role)
    member = join(alpha, "bea", "viewer")

    assert low.get(PAGE).status_code == 403
    assert PAGE not in low.get("/settings").text
    for path in ("invite", f"{member.pk}/change", f"{member.pk}/remove", f"{member.pk}/transfer"):
        assert low.post(f"{PAGE}/{path}", {"email": ADDRESS, "role": "admin"}).status_code == 403
    assert Membership.objects.get(pk=member.pk).role == "viewer"
    assert not Invitation.objects.exists()


def test_an_address_is_invited_by_the_form(browser, alpha):
    admin = browser(alpha, role="admin")

    answer = admin.post(f"{PAGE}/invite", {"email": ADDRESS, "role": "operator"}, follow=True)

    assert "A message with a link goes to" in answer.text
    assert Invitation.objects.get().sees_payloads
    again = admin.post(f"{PAGE}/invite", {"email": ADDRESS, "role": "operator"}, follow=True)
    assert "has an open invitation" in again.text


def test_an_admins_form_reaches_no_owner(browser, alpha):
    admin = browser(alpha, role="admin")
    owners = [join(alpha, name, "owner") for name in ("o", "p")]
    me = own("admin")

    for path, form in (
        (f"{owners[0].pk}/change", {"role": "viewer"}),
        (f"{owners[0].pk}/remove", {}),
        (f"{me.pk}/change", {"role": "owner"}),
        ("invite", {"email": ADDRESS, "role": "owner"}),
    ):
        assert "Only an owner" in admin.post(f"{PAGE}/{path}", form, follow=True).text
    assert admin.post(f"{PAGE}/{me.pk}/transfer").status_code == 403
    assert Membership.objects.filter(role="owner").count() == 2
    assert own("admin")


def test_a_form_changes_only_what_differs_from_its_page(browser, alpha):
    owner = browser(alpha, role="owner")
    member = join(alpha, "bea", "admin")
    shown = {"role_before": "admin", "sees_payloads_before": "yes"}
    page = owner.get(PAGE).text
    for name, value in shown.items():
        assert f'name="{name}" value="{value}"' in page
    Membership.objects.filter(pk=member.pk).update(role="viewer")

    form = {**shown, "role": "admin", "sees_payloads": "yes"}
    owner.post(f"{PAGE}/{member.pk}/change", form)

    member.refresh_from_db()
    assert member.role == "viewer"


def test_a_member_is_changed_and_removed(browser, alpha):
    owner = browser(alpha)
    member = join(alpha, "bea", "viewer")

    changed = owner.post(
        f"{PAGE}/{member.pk}/change", {"role": "operator", "sees_payloads": "no"}, follow=True
    )
    assert "bea is operator and sees no payloads" in changed.text
    raised = owner.post(
        f"{PAGE}/{member.pk}/change", {"role": "admin", "sees_payloads": "no"}, follow=True
    )
    assert "bea is admin and sees payloads" in raised.text
    assert "Removed." in owner.post(f"{PAGE}/{member.pk}/remove", follow=True).text
    assert not Membership.objects.filter(pk=member.pk).exists()


def test_a_removed_or_demoted_member_is_refused_by_the_next_page(browser, alpha):
    admin, member = browser(alpha, role="admin"), None
    member = own("admin")
    join(alpha, "o", "owner")

    stepped = admin.post(f"{PAGE}/{member.pk}/change", {"role": "viewer"}, follow=True)
    assert stepped.status_code == 200
    assert admin.get(PAGE).status_code == 403
    Membership.objects.filter(pk=member.pk).delete()
    assert admin.get(reverse("dashboard:overview")).status_code == 403


def test_the_last_owner_stays_and_hands_over(browser, alpha):
    owner = browser(alpha)
    me, member = own("owner"), join(alpha, "bea", "viewer")

    refused = owner.post(f"{PAGE}/{me.pk}/remove", follow=True)
    assert "The tenant would have no owner" in refused.text
    done = owner.post(f"{PAGE}/{member.pk}/transfer", follow=True)

    assert "bea is the owner now. You are an admin." in done.text
    assert own("admin")


def test_an_invitation_is_sent_again_and_withdrawn(browser, alpha):
    owner = browser(alpha)
    made = invite(alpha)

    again = owner.post(f"{PAGE}/invitations/{made.id}/resend", follow=True)
    ended = owner.post(f"{PAGE}/invitations/{made.id}/withdraw", follow=True)

    assert "A new link goes to" in again.text
    assert "works no longer" in ended.text
    assert User.objects.count() == 1


def test_a_choice_that_the_form_does_not_have_is_refused(browser, alpha):
    owner, member = browser(alpha), join(alpha, "bea", "viewer")

    for form in ({"role": "viewer", "sees_payloads": "maybe"}, {"role": "emperor"}, {}):
        owner.post(f"{PAGE}/{member.pk}/change", form)

    assert Membership.objects.get(pk=member.pk).role == "viewer"
