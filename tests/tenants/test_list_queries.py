"""The reader of lists' queries that the console registers."""

from __future__ import annotations

import pytest

from api.list_pages import PARAMETERS
from shared.exceptions import InvalidInput
from tenants import list_queries


def test_queries_are_read_by_the_parameters_of_the_console():
    assert list_queries.names_of("tasks") == {*PARAMETERS["tasks"]}
    assert list_queries.read("tasks", "?type=RECURRING&page=2") == "type=RECURRING"
    with pytest.raises(InvalidInput):
        list_queries.read("tasks", "oops=1")
