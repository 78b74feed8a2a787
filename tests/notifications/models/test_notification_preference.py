"""Wishes that the database refuses."""

from __future__ import annotations

from datetime import time

import pytest
from django.db import IntegrityError

from notifications.models import NotificationPreference
from tests.factories import make_tenant
from tests.notifications.cast import make_member

pytestmark = pytest.mark.django_db


def test_unknown_events_cannot_be_stored() -> None:
    with pytest.raises(IntegrityError):
        NotificationPreference.objects.create(
            membership=make_member(make_tenant()), email_events=["everything"]
        )


def test_quiet_hours_cannot_have_one_end() -> None:
    with pytest.raises(IntegrityError):
        NotificationPreference.objects.create(
            membership=make_member(make_tenant()), quiet_from=time(22)
        )
