"""All rows by pages, each of which begins behind the last row of the one before."""

from __future__ import annotations

import pytest

from shared.keyset import each_page
from tenants.models import Tenant
from tests.factories import make_tenant

ORDER = ("-name", "id")


@pytest.mark.django_db
def test_pages_have_every_row_once_and_in_order_also_from_parts_that_overlap():
    made = [make_tenant(name) for name in ("A", "B", "C", "D")]
    rows = Tenant.objects.filter(pk__in=[one.pk for one in made])
    parts = [rows.filter(name__lte="C"), rows.filter(name__gte="B")]

    pages = list(each_page(rows, order=ORDER, at_once=2))
    by_parts = list(each_page(rows, order=ORDER, parts=parts, at_once=3))
    behind = [
        [one.name for one in page]
        for page in each_page(rows, order=ORDER, behind=["C", made[2].pk])
    ]

    assert [[one.name for one in page] for page in pages] == [["D", "C"], ["B", "A"]]
    assert [one.name for page in by_parts for one in page] == ["D", "C", "B", "A"]
    assert behind == [["B", "A"]]
    assert list(each_page(rows.none(), order=ORDER)) == []
