"""The parameters of lists, and saved queries read by them."""

from __future__ import annotations

import pytest

from api.list_pages import (
    COLUMNS,
    PARAMETERS,
    SHOWN,
    names_of,
    read_saved_query,
    without_place,
)
from shared.exceptions import InvalidInput
from tenants.choices import SavedList


def test_every_list_has_parameters_and_its_usual_columns_are_offered():
    assert {*PARAMETERS} == {*SavedList}
    assert all({*SHOWN[of]} <= {*COLUMNS[of]} for of in COLUMNS)


def test_a_query_is_kept_without_its_place():
    kept = read_saved_query(
        "executions", "?status=FAILED&status=RETRYING&page=2&limit=5&saved=x&q="
    )

    assert kept == "status=FAILED&status=RETRYING"
    assert without_place("?cursor=a&q=b%20c") == [("q", "b c")]


@pytest.mark.parametrize("query", ["oops=1", "status=OOPS", "window=9d", "task=x", "q=%00"])
def test_a_query_that_the_list_refuses_is_not_kept(query):
    with pytest.raises(InvalidInput) as refused:
        read_saved_query("executions", query)

    assert refused.value.errors[0].pointer == "#/query"


def test_names_are_those_of_the_parameters():
    assert names_of("dead_letters") == {*PARAMETERS["dead_letters"]}
    assert names_of("oops") == frozenset()
