from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from events.models import AuditEntry
from shared.actor import COMMAND
from shared.exceptions import InvalidInput, NotFound
from tenants.models import Membership
from tenants.services import remove_member, set_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


def entries(tenant):
    rows = AuditEntry.objects.filter(tenant_id=tenant.pk, object_kind="member")
    return [(row.action, row.before, row.after) for row in rows.order_by("sequence")]


def test_a_role_is_given_and_replaced(alpha, ada):
    set_member(alpha.id, ada.pk, "viewer", actor=COMMAND)
    set_member(alpha.id, ada.pk, "owner", actor=COMMAND)
    set_member(alpha.id, ada.pk, "owner", actor=COMMAND)

    assert Membership.objects.get(tenant=alpha, user=ada).role == "owner"
    assert entries(alpha) == [
        ("member.set", None, '{"role":"viewer"}'),
        ("member.set", '{"role":"viewer"}', '{"role":"owner"}'),
    ]


def test_a_role_that_does_not_exist_is_refused(alpha, ada):
    with pytest.raises(InvalidInput):
        set_member(alpha.id, ada.pk, "emperor", actor=COMMAND)


def test_a_role_is_taken_away_once(alpha, ada):
    set_member(alpha.id, ada.pk, "viewer", actor=COMMAND)

    remove_member(alpha.id, ada.pk, actor=COMMAND)

    assert not Membership.objects.filter(tenant=alpha, user=ada).exists()
    with pytest.raises(NotFound):
        remove_member(alpha.id, ada.pk, actor=COMMAND)
