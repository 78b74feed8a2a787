from __future__ import annotations

from tasks.versions import FIRST_REDIRECTED, into_of, is_redirected
from tests.tasks.bodies import TARGETS


def test_a_redirected_version_names_its_place_and_no_other_does():
    assert (is_redirected(FIRST_REDIRECTED - 1), is_redirected(FIRST_REDIRECTED)) == (False, True)
    assert into_of(FIRST_REDIRECTED - 1, TARGETS["webhook"]) is None
    assert into_of(FIRST_REDIRECTED, TARGETS["webhook"]) == {"url": TARGETS["webhook"]["url"]}
    for kind in ("pool", "handler", "command"):
        assert into_of(FIRST_REDIRECTED + 7, TARGETS[kind]) == {"pool": TARGETS[kind]["pool"]}
