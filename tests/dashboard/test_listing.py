"""A page's query is read as the API reads it."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from api.protocol.query import choice, text
from dashboard.listing import PAGE_ROWS, read_filters, read_page
from executions.models import Execution
from shared.exceptions import InvalidInput
from tests.factories import make_task, once, prepare

PARAMETERS = {"q": text(), "kind": choice("a", "b", default="a")}


def query_of(path):
    return read_filters(RequestFactory().get(path), PARAMETERS)


def test_empty_fields_of_a_form_count_as_left_out():
    assert query_of("/?q=&kind=") == {**query_of("/"), "q": None, "kind": "a"}


def test_names_of_others_are_let_be():
    assert query_of("/?utm_source=x&q=word")["q"] == "word"


def test_a_list_that_can_be_sorted_says_by_which_name():
    request = RequestFactory().get("/?sort=-delay")

    assert "sort" not in read_filters(request, PARAMETERS)
    with pytest.raises(InvalidInput, match="by ordering"):
        read_filters(request, {**PARAMETERS, "ordering": text()})


def test_a_value_outside_its_choice_is_refused():
    with pytest.raises(InvalidInput):
        query_of("/?kind=c")


def test_a_page_holds_fifty_rows_unless_asked():
    assert query_of("/")["limit"] == PAGE_ROWS
    assert query_of("/?limit=5")["limit"] == 5


def test_the_next_page_goes_on_after_the_last_row(alpha):
    for _ in range(3):
        make_task(alpha, once())
    prepare()
    rows = Execution.objects.for_tenant(alpha.pk)

    first = read_page(rows, query_of("/?limit=2"))
    second = read_page(rows, query_of(f"/?limit=2&cursor={first['pagination']['next_cursor']}"))

    assert (len(first["rows"]), len(second["rows"])) == (2, 1)
    assert {row.pk for row in [*first["rows"], *second["rows"]]} == {row.pk for row in rows}
