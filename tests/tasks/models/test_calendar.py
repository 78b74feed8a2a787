from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from tasks.models import Calendar
from tasks.models.calendar import saturday_and_sunday

pytestmark = pytest.mark.django_db


def test_the_usual_weekend_is_a_list_of_its_own():
    assert saturday_and_sunday() == [6, 7]
    assert saturday_and_sunday() is not saturday_and_sunday()


def test_a_calendar_reads_as_its_name(alpha):
    assert str(Calendar.objects.create(tenant=alpha, name="Holidays")) == "Holidays"


def test_a_name_is_there_and_once_in_a_tenant(alpha, beta):
    Calendar.objects.create(tenant=alpha, name="Holidays")
    Calendar.objects.create(tenant=beta, name="Holidays")

    for name in ("", "Holidays"):
        with pytest.raises(IntegrityError), transaction.atomic():
            Calendar.objects.create(tenant=alpha, name=name)
