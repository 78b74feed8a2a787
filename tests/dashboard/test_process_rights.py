"""Who sees the processes of the installation, and who acts on them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from dashboard.process_rights import runs_processes, sees_processes

pytestmark = pytest.mark.django_db

SEE = ("view_schedulernode", "view_workerminute")
ACT = ("change_schedulernode", "change_workerminute")


@pytest.mark.parametrize(
    ("fields", "permissions", "sees", "acts"),
    [
        ({}, (), False, False),
        ({}, SEE + ACT, False, False),
        ({"is_staff": True}, (), False, False),
        ({"is_staff": True}, SEE, True, False),
        ({"is_staff": True}, ACT, False, False),
        ({"is_staff": True}, SEE + ACT, True, True),
        ({"is_superuser": True}, (), True, True),
    ],
)
def test_superusers_and_staff_with_the_permissions(
    fields: dict[str, Any], permissions: tuple[str, ...], sees: bool, acts: bool
):
    user = User.objects.create_user("ada", **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))

    assert (sees_processes(user), runs_processes(user)) == (sees, acts)
