from __future__ import annotations

from uuid import UUID

import pytest

from shared.actor import COMMAND
from tenants import right_changes
from tenants.authority import OPERATOR
from tenants.services import edit_api_key, revoke_api_key, rotate_api_key
from tenants.services.memberships import change_member, expel_member
from tests.support.api import make_key
from tests.support.invitations import join

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    found: list[UUID] = []
    monkeypatch.setattr(right_changes.of_keys, "_called", [found.append])
    return found


def test_each_change_of_a_key_is_told_once_it_has_committed(
    alpha, told, django_capture_on_commit_callbacks
):
    key, _ = make_key(alpha)
    changes = (
        lambda: edit_api_key(alpha.id, key.id, {"name": "new"}, actor=COMMAND, by=OPERATOR),
        lambda: rotate_api_key(alpha.id, key.id, actor=COMMAND, by=OPERATOR),
        lambda: revoke_api_key(alpha.id, key.id, actor=COMMAND, by=OPERATOR),
    )
    for number, change in enumerate(changes):
        with django_capture_on_commit_callbacks(execute=True):
            change()
            assert told == [key.id] * number
        assert told == [key.id] * (number + 1)


def test_nothing_is_told_where_nothing_changed(alpha, told, django_capture_on_commit_callbacks):
    key, _ = make_key(alpha)

    with django_capture_on_commit_callbacks(execute=True):
        edit_api_key(alpha.id, key.id, {"name": key.name}, actor=COMMAND, by=OPERATOR)

    assert told == []


def test_each_change_of_a_members_right_is_told_once_it_has_committed(
    alpha, monkeypatch, django_capture_on_commit_callbacks
):
    told: list[UUID] = []
    monkeypatch.setattr(right_changes.of_members, "_called", [told.append])
    member = join(alpha, "v", "viewer")
    changes = (
        lambda: change_member(
            alpha.id, member.pk, {"role": "operator"}, by=OPERATOR, actor=COMMAND
        ),
        lambda: expel_member(alpha.id, member.pk, by=OPERATOR, actor=COMMAND),
    )

    for number, change in enumerate(changes, 1):
        with django_capture_on_commit_callbacks(execute=True):
            change()
            assert len(told) == number - 1
        assert told == [alpha.id] * number
