"""Saved views on the pages of lists: the menu, the open view, the default."""

from __future__ import annotations

from typing import Any

import pytest

from tenants.models import Membership, SavedView, Tenant
from tests.dashboard.asking import HOSTILE, is_escaped

PAGES = {
    "executions": "/executions",
    "tasks": "/tasks",
    "dead_letters": "/dead-letters",
}


def make(tenant: Tenant, of: str = "executions", name: str = "Failed", **given: Any) -> SavedView:
    return SavedView.objects.create(
        tenant=tenant, list=of, name=name, **{"query": "q=x&density=compact", **given}
    )


@pytest.mark.parametrize("of", PAGES)
def test_a_list_opens_its_default_view_and_only_without_a_query(browser, alpha, of):
    view = make(alpha, of, is_default=True)
    client = browser(alpha, role="viewer")

    led = client.get(PAGES[of])

    assert (led.status_code, led["Location"]) == (
        302,
        f"{PAGES[of]}?q=x&density=compact&saved={view.pk}",
    )
    page = client.get(led["Location"])
    assert page.context["views"].current == view
    assert not page.context["views"].is_changed
    assert page.context["query"]["q"] == "x"
    for query in ("saved=none", "q=y"):
        plain = client.get(f"{PAGES[of]}?{query}")
        assert plain.status_code == 200
        assert plain.context["views"].current is None


@pytest.mark.parametrize("of", PAGES)
def test_the_whole_list_is_one_link_away_from_a_default_that_matches_nothing(browser, alpha, of):
    make(alpha, of, query="q=nowhere", is_default=True)
    client = browser(alpha, role="viewer")
    path = PAGES[of]

    text = client.get(client.get(path)["Location"]).text

    main = text[text.index("<main") :]
    assert f'href="{path}"' not in main
    assert f'href="{"?state=open" if of == "dead_letters" else f"{path}?saved=none"}"' in main
    # The overview counts all open letters, also where a default view shows fewer.
    assert 'href="/dead-letters"><b' not in client.get("/").text


def test_the_own_default_comes_before_the_shared_one(browser, alpha):
    make(alpha, is_default=True)
    client = browser(alpha)
    own = make(alpha, name="Mine", is_default=True, member=Membership.objects.get(tenant=alpha))

    assert client.get("/executions")["Location"].endswith(f"saved={own.pk}")


def test_a_view_that_is_filtered_further_is_changed(browser, alpha):
    view = make(alpha)

    views = (
        browser(alpha)
        .get(f"/executions?density=compact&q=y&cursor=&saved={view.pk}")
        .context["views"]
    )

    assert views.is_changed
    assert views.query == "density=compact&q=y"


def test_a_view_says_what_its_list_has_no_longer_and_the_rest_holds(browser, alpha):
    view = make(alpha, query="colour=red&q=x", is_default=True)
    client = browser(alpha)

    page = client.get(client.get("/executions")["Location"])

    assert page.status_code == 200
    assert page.context["views"].unknown == ("colour",)
    assert not page.context["views"].is_changed
    assert page.context["query"]["q"] == "x"
    assert f"The view {view.name} names colour, which this list no longer has" in page.text


def test_names_of_others_are_not_in_the_menu_and_hostile_ones_are_escaped(browser, alpha, beta):
    browser(alpha)
    make(alpha, name="Of another member", member=Membership.objects.get(tenant=alpha))
    client = browser(alpha)
    make(beta, name="Of another tenant")
    view = make(alpha, name=HOSTILE[:80])

    page = client.get(f"/executions?saved={view.pk}")

    assert "Of another" not in page.text
    assert is_escaped(page)


def test_an_unknown_view_in_the_address_is_no_error(browser, alpha):
    page = browser(alpha).get("/executions?saved=00000000-0000-4000-8000-000000000000")

    assert page.status_code == 200
    assert page.context["views"].current is None
