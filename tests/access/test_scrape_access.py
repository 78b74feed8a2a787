"""``/metrics`` answers as its table says, by what is set and who asks."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from api import scraping
from tenants.models import Membership
from tests.access.scrape_rights import INSIDE, OUTSIDE, SCRAPERS, SETTINGS, TOKEN, answer
from tests.access.world import Caller, World, undone

pytestmark = pytest.mark.django_db

_TEXT = b"# read\n"


class _Read:
    """Answers without asking a server: these cells are about who may ask."""

    def scrape(self, accept: str) -> tuple[bytes, str]:
        return _TEXT, "text/plain"


def _asked(scraper: str, world: World, callers: dict[str, Caller]) -> Any:
    """Return the answer to a kind of scraper."""
    if scraper == "an owner's key":
        return callers[scraper].client.call("GET", "/metrics")
    client = Client(REMOTE_ADDR=INSIDE if "from the networks" in scraper else OUTSIDE)
    if scraper == "a person who is signed in":
        client.force_login(Membership.objects.get(pk=world.ids["owner_member"]).user)
    headers = {
        "the token": {"authorization": f"Bearer {TOKEN}"},
        "the token in another case": {"authorization": f"Bearer {TOKEN.upper()}"},
        "the token as a password": {
            "authorization": f"Basic {b64encode(f'metrics:{TOKEN}'.encode()).decode()}"
        },
        "another token": {"authorization": f"Bearer {TOKEN[::-1]}"},
        "from the networks with another token": {"authorization": f"Bearer {TOKEN[::-1]}"},
        "a webhook from the networks": {"webhook-id": "msg_1"},
        "with an address of the networks in a header": {"x-forwarded-for": INSIDE},
    }
    return client.get("/metrics", headers=headers.get(scraper, {}))


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_scrape_is_answered_as_the_table_says(
    world: World, callers: dict[str, Caller], setting: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scraping, "COLLECTOR", _Read())
    opened = replace(settings.PUNCTUAL, **SETTINGS[setting])
    monkeypatch.setattr(settings, "PUNCTUAL", opened)

    for scraper in SCRAPERS:
        with undone():
            got = _asked(scraper, world, callers)
        wanted = answer(setting, scraper)
        assert got.status_code == wanted, scraper
        assert (_TEXT in got.content) == (wanted == 200), scraper
        assert TOKEN.encode() not in got.content, scraper
        assert got["Cache-Control"] == "no-store", scraper


def test_each_answer_of_the_table_is_given_to_a_scraper():
    given = {setting: {answer(setting, one) for one in SCRAPERS} for setting in SETTINGS}

    assert given == {
        "closed": {404},
        "`METRICS_TOKEN`": {200, 401},
        "`METRICS_NETWORKS`": {200, 404},
        "both": {200, 401},
    }
