from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tenants.models import Invitation, SavedView
from tenants.presentation import present_invitation, present_member, present_view
from tests.support.invitations import invited, join

pytestmark = pytest.mark.django_db


def test_a_member_is_shown_with_the_account_and_the_rights(alpha):
    shown = present_member(join(alpha, "ada", "viewer", sees_payloads=False))

    del shown["id"], shown["created_at"]
    assert shown == {
        "name": "ada",
        "email": "ada@example.com",
        "role": "viewer",
        "sees_payloads": False,
        "active": True,
    }


def test_an_invitation_is_shown_with_its_status_and_without_its_token(alpha):
    found, token = invited(alpha)
    now = timezone.now()

    assert present_invitation(found)["status"] == "open"
    assert token not in str(present_invitation(found))
    for change, status in (
        ({"expires_at": now - timedelta(seconds=1)}, "expired"),
        ({"withdrawn_at": now}, "withdrawn"),
        ({"accepted_at": now}, "accepted"),
    ):
        Invitation.objects.filter(pk=found.pk).update(**change)
        found.refresh_from_db()
        assert present_invitation(found)["status"] == status


def test_a_view_without_a_member_is_shared_and_names_what_its_list_has_no_longer():
    at = timezone.now()
    view = SavedView(
        list="tasks", name="A", query="x=1&q=b", member_id=7, created_at=at, updated_at=at
    )

    personal = present_view(view)
    view.member_id = None

    assert (personal["shared"], personal["member"]) == (False, 7)
    assert present_view(view)["shared"]
    assert personal["unknown_parameters"] == ["x"]
