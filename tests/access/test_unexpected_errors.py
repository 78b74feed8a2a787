"""A fault of ours tells nothing: neither the answer nor the log has what the code had in hand."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from tenants.models import Membership
from tests.access.world import SEEN_BY_NONE, SEEN_BY_READERS, body
from tests.support.api import make_client, make_tenant
from tests.support.live import make_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Yield what the product's own handler writes."""
    [ours] = [one for one in logging.getLogger().handlers if one.formatter is not None][:1]
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(ours.formatter)
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def fail_with(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def broken(*given: Any, **named: Any) -> None:
        in_hand = {"payload": f"{SEEN_BY_READERS}-local", "password": f"{SEEN_BY_NONE}-local"}
        raise RuntimeError(f"planted beside {len(in_hand)} values")

    monkeypatch.setattr(place, broken)


def quiet(text: str) -> bool:
    return SEEN_BY_READERS not in text and SEEN_BY_NONE not in text


def test_a_fault_of_the_api_shows_and_logs_nothing_of_the_call(
    monkeypatch: pytest.MonkeyPatch, logged: io.StringIO, settings: Any
):
    settings.DEBUG = False
    fail_with(monkeypatch, "tasks.bulk.create_for_each")
    client = make_client(make_tenant("Alpha"))

    answer = client.post("/v1/tasks", body(), idempotency_key="once")

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "planted" not in answer.text
    assert quiet(answer.text)
    assert "planted" in logged.getvalue()
    assert quiet(logged.getvalue())


def test_a_fault_of_a_page_shows_and_logs_nothing_of_the_form(
    monkeypatch: pytest.MonkeyPatch, logged: io.StringIO, settings: Any
):
    settings.DEBUG = False
    fail_with(monkeypatch, "tasks.named_secrets.services.create_secret")
    client = Client(raise_request_exception=False)
    member = make_member(make_tenant("Alpha"))
    Membership.objects.update(role="owner")
    client.force_login(member)
    form = {"name": "token", "value": f"{SEEN_BY_NONE}-typed", "hosts": "*"}

    answer = client.post("/settings/secrets/new", form)

    assert answer.status_code == 500
    assert quiet(answer.content.decode())
    assert quiet(logged.getvalue())
