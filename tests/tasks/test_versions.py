from __future__ import annotations

import re

import pytest

from shared.sql import statement
from tasks.versions import FIRST_REDIRECTED, into_of, is_redirected
from tests.tasks.bodies import TARGETS


def test_a_redirected_version_names_its_place_and_no_other_does():
    assert (is_redirected(FIRST_REDIRECTED - 1), is_redirected(FIRST_REDIRECTED)) == (False, True)
    assert into_of(FIRST_REDIRECTED - 1, TARGETS["webhook"]) is None
    assert into_of(FIRST_REDIRECTED, TARGETS["webhook"]) == {"url": TARGETS["webhook"]["url"]}
    for kind in ("pool", "handler", "command"):
        assert into_of(FIRST_REDIRECTED + 7, TARGETS[kind]) == {"pool": TARGETS[kind]["pool"]}


@pytest.mark.parametrize("name", ["gate/end_tasks", "materialize/advance_tasks"])
def test_the_statements_that_end_tasks_have_the_same_number(name):
    assert re.search(rf"\.revision < {FIRST_REDIRECTED}\b", statement(name))
