from __future__ import annotations

import pytest

from tasks.versions import FIRST_REDIRECTED, into_of, is_redirected, step_in, step_version
from tests.tasks.bodies import TARGETS


def test_a_redirected_version_names_its_place_and_no_other_does():
    assert (is_redirected(FIRST_REDIRECTED - 1), is_redirected(FIRST_REDIRECTED)) == (False, True)
    assert into_of(FIRST_REDIRECTED - 1, TARGETS["webhook"]) is None
    assert into_of(FIRST_REDIRECTED, TARGETS["webhook"]) == {"url": TARGETS["webhook"]["url"]}
    for kind in ("pool", "handler", "command"):
        assert into_of(FIRST_REDIRECTED + 7, TARGETS[kind]) == {"pool": TARGETS[kind]["pool"]}


@pytest.mark.parametrize("undoes", [False, True])
def test_a_step_has_its_place_in_every_version(undoes):
    number = step_version(3, 7, compensates=undoes)

    assert step_in(number, 12) == step_version(12, 7, compensates=undoes)
