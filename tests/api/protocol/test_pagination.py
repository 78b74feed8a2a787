from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from api.protocol import pagination
from shared.exceptions import InvalidInput
from tenants.models import Tenant
from tests.support.api import ApiClient

pytestmark = [pytest.mark.urls("tests.api.protocol.probe"), pytest.mark.django_db]


@pytest.fixture
def names():
    """Make 45 tenants; those of one statement share their created_at."""
    names = [f"t{number:02}" for number in range(45)]
    Tenant.objects.bulk_create([Tenant(name=name) for name in names])
    return names


def _walk(path: str) -> list[str]:
    seen: list[str] = []
    cursor = ""
    while True:
        body = ApiClient().get(path + cursor).json()
        seen += body["tenants"]
        if body["pagination"]["next_cursor"] is None:
            return seen
        cursor = f"&cursor={body['pagination']['next_cursor']}"


@pytest.mark.parametrize("ordering", ["name", "-created_at"])
@pytest.mark.parametrize("limit", [1, 7, 15, 45, 200])
def test_cursors_walk_every_row_once_even_where_sort_keys_are_equal(names, ordering, limit):
    seen = _walk(f"/v1/tenants?limit={limit}&ordering={ordering}")

    assert sorted(seen) == names
    assert ordering != "name" or seen == names


def test_rows_added_meanwhile_neither_repeat_nor_hide_others(names):
    first = ApiClient().get("/v1/tenants?limit=20").json()
    Tenant.objects.create(name="t-new")

    second = (
        ApiClient().get(f"/v1/tenants?limit=200&cursor={first['pagination']['next_cursor']}").json()
    )

    assert sorted(first["tenants"] + second["tenants"]) == names


def test_the_first_page_has_20_rows_and_the_total(names):
    body = ApiClient().get("/v1/tenants").json()

    assert len(body["tenants"]) == 20
    assert body["pagination"] | {"next_cursor": ""} == {
        "limit": 20,
        "page": 1,
        "total": 45,
        "total_estimated": False,
        "next_cursor": "",
    }


def test_pages_continue_and_end_in_an_empty_one(names):
    third = ApiClient().get("/v1/tenants?page=3&ordering=name").json()
    beyond = ApiClient().get("/v1/tenants?page=9&ordering=name").json()

    assert third["tenants"] == names[40:]
    assert third["pagination"]["next_cursor"] is None
    assert (beyond["tenants"], beyond["pagination"]["total"]) == ([], 45)


def test_a_page_hands_on_to_cursors(names):
    first = ApiClient().get("/v1/tenants?page=1&ordering=name").json()

    second = (
        ApiClient()
        .get(f"/v1/tenants?ordering=name&cursor={first['pagination']['next_cursor']}")
        .json()
    )

    assert second["tenants"] == names[20:40]
    assert "total" not in second["pagination"]


def test_large_totals_are_estimated_and_say_so(names):
    with mock.patch.object(pagination, "MAX_EXACT_TOTAL", 10):
        body = ApiClient().get("/v1/tenants").json()

    assert body["pagination"]["total_estimated"] is True
    assert body["pagination"]["total"] >= 11


@pytest.mark.parametrize(("query", "counts"), [("limit=200", 0), ("page=3", 0), ("page=9", 1)])
def test_a_list_that_ends_on_the_page_is_not_counted(names, query, counts):
    with CaptureQueriesContext(connection) as asked:
        body = ApiClient().get(f"/v1/tenants?{query}").json()

    assert body["pagination"]["total"] == 45
    assert sum("COUNT(" in query["sql"] for query in asked) == counts


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "limit=-1",
        "page=0",
        "page=1.5",
        "page=99999999999999999999",
        "cursor=",
        "cursor=x",
        "cursor=eyJhIjoxfQ.x",
        "cursor=%00",
        "cursor=%ff",
        "page=1&cursor=x",
        "limit=1&limit=2",
        "offset=20",
    ],
)
def test_what_is_out_of_range_or_made_up_is_400(query):
    response = ApiClient().get(f"/v1/tenants?{query}")

    assert response.status_code == 400
    assert response.json()["errors"]


def test_a_cursor_of_another_order_is_400(names):
    cursor = ApiClient().get("/v1/tenants?ordering=name").json()["pagination"]["next_cursor"]

    assert ApiClient().get(f"/v1/tenants?cursor={cursor}").status_code == 400
    assert ApiClient().get(f"/v1/tenants?ordering=name&cursor={cursor}x").status_code == 400


@pytest.mark.parametrize("order", [("name", "id"), ("-created_at", "-id"), ("-name", "-id")])
@pytest.mark.parametrize("limit", [1, 7, 20, 45])
def test_overlapping_parts_are_walked_as_the_whole_is(names, order, limit):
    whole = Tenant.objects.all()
    parts = [whole.filter(name__lt="t20"), whole.filter(name__gte="t12"), whole.filter(name="t03")]

    def walk(parts: list[Any]) -> list[str]:
        seen: list[str] = []
        cursor = None
        while True:
            query = {"limit": limit, "page": None, "cursor": cursor}
            page = pagination.paginate(
                whole,
                query,
                key="tenants",
                serialize=lambda row: row.name,
                order=order,
                parts=parts,
            )
            seen += page["tenants"]
            cursor = page["pagination"]["next_cursor"]
            if cursor is None:
                return seen

    assert walk(parts) == walk([])
    assert len(walk(parts)) == len(names)


def test_a_numbered_page_of_parts_is_that_of_the_whole(names):
    whole = Tenant.objects.all()
    query = {"limit": 10, "page": 3, "cursor": None}

    pages = [
        pagination.paginate(
            whole, query, key="rows", serialize=str, order=("name", "id"), parts=parts
        )
        for parts in ((), (whole.filter(name__lt="t40"), whole.filter(name__gte="t05")))
    ]

    assert pages[0] == pages[1]
    assert len(pages[0]["rows"]) == 10


def numbers(query, total=7):
    given = {"limit": 3, "page": None, "cursor": None, **query}
    return pagination.paginate_numbers(total, given, key="items", read=range)


def test_numbered_things_are_read_page_by_page():
    first = numbers({})
    second = numbers({"cursor": first["pagination"]["next_cursor"]})
    third = numbers({"page": 3})

    assert [first["items"], second["items"], third["items"]] == [[0, 1, 2], [3, 4, 5], [6]]
    assert (first["pagination"]["total"], first["pagination"]["page"]) == (7, 1)
    assert "total" not in second["pagination"]
    assert third["pagination"]["next_cursor"] is None
    assert numbers({"page": 4})["items"] == []
    assert numbers({}, total=0)["items"] == []


@pytest.mark.parametrize("query", [{"cursor": "x"}, {"page": 1, "cursor": "x"}])
def test_a_made_up_cursor_of_numbers_is_refused(query):
    with pytest.raises(InvalidInput):
        numbers(query)
