"""The page of quotas: what is used of which limit, of this tenant only."""

from __future__ import annotations

from tenants.services import change_quotas
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.factories import ACTOR, make_task
from tests.support.api import make_tenant


def test_without_limits_the_page_shows_what_is_stored(browser, alpha):
    make_task(alpha)

    text = browser(alpha, role="viewer").get("/settings/quotas").text

    assert "No quota limits Alpha." in text
    assert 'role="meter"' not in text


def test_limits_are_shown_with_bars_and_a_full_one_says_what_to_do(browser, alpha):
    change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 1})
    make_task(alpha)

    text = browser(alpha, role="viewer").get("/settings/quotas").text

    assert 'aria-valuetext="1 of 1 used"' in text
    assert "Used up: delete tasks" in text


def test_a_near_one_is_marked(browser, alpha):
    change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 5})
    for _ in range(4):
        make_task(alpha)

    assert "80 % or more are used." in browser(alpha).get("/settings/quotas").text


def test_a_rate_has_what_may_come_at_once_as_its_whole(browser, alpha):
    change_quotas(alpha.id, actor=ACTOR, limits={"creations_per_second": 50})

    assert 'aria-valuetext="0 of 100 used"' in browser(alpha).get("/settings/quotas").text


def test_another_tenants_are_not_shown(browser, alpha, beta):
    change_quotas(beta.id, actor=ACTOR, limits={"stored_tasks": 12345})

    assert "12345" not in browser(alpha).get("/settings/quotas").text


def test_a_hostile_name_is_text(browser, db):
    tenant = make_tenant(HOSTILE)

    assert is_escaped(browser(tenant).get("/settings/quotas"))
