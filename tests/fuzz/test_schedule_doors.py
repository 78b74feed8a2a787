"""A wrong schedule is answered with the same sentence at every door that takes one."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from uuid import uuid4

import pytest
from django.test import Client

from tenants.models import Tenant
from tests.dashboard.conftest import browser  # noqa: F401 - fixtures
from tests.factories import make_client
from tests.support.cast import alpha  # noqa: F401 - fixtures
from tests.support.command_calls import call
from tests.support.forms import form_at

URL = "https://api.example.com/reports"
WRONG = (
    ("cron_expression", "a b c d e", "Minute field, position 1: 'a' is not understood."),
    ("cron_expression", "0 0 ?,* * *", "'?' stands alone in its field."),
    ("timezone", "Europe/Berlinn", "Did you mean 'Europe/Berlin'?"),
    ("every", "PT0.5S", "Write PT1S, not PT0.5S."),
    ("every", "PT0.5H", "Write PT30M, not PT0.5H."),
)

Door = Callable[[Tenant, Client, str, str], str]


def _schedule(field: str, value: str) -> dict[str, str]:
    other = {} if field in ("cron_expression", "every") else {"cron_expression": "0 8 * * *"}
    return {**other, field: value}


def _rest(tenant: Tenant, _: Client, field: str, value: str) -> str:
    body = {"schedule": _schedule(field, value), "target": {"url": URL}}
    answer = make_client(tenant).post("/v1/tasks", body, idempotency_key=str(uuid4()))
    assert "errors" in answer.json(), answer.content
    assert answer.json()["errors"][0]["pointer"] == f"#/schedule/{field}"
    return str(answer.json()["errors"][0]["message"])


def _form(_: Tenant, client: Client, field: str, value: str) -> str:
    if field == "every":
        return ""
    fields = form_at(client, "/tasks/new", url=URL, **_schedule(field, value))
    return unescape(client.post("/tasks/new", fields).text)


def _preview(_: Tenant, client: Client, field: str, value: str) -> str:
    if field == "every":
        return ""
    fields = form_at(client, "/tasks/new", url=URL, **_schedule(field, value))
    return unescape(client.post("/tasks/preview", fields).text)


def _command(_: Tenant, __: Client, field: str, value: str) -> str:
    options = {"cron_expression": "--cron", "timezone": "--tz", "every": "--every"}
    words = [
        word for name, text in _schedule(field, value).items() for word in (options[name], text)
    ]
    return call("tasks", "create", "--url", URL, *words).err


def _crontab(_: Tenant, client: Client, field: str, value: str) -> str:
    if field == "every":
        return ""
    line = {"timezone": f"CRON_TZ={value}\n0 8 * * * run", "cron_expression": f"{value} run"}[field]
    return unescape(client.post("/tasks/new", {"paste": "1", "pasted": line}).text)


DOORS: dict[str, Door] = {
    "REST": _rest,
    "form": _form,
    "preview": _preview,
    "command": _command,
    "pasted crontab": _crontab,
}


@pytest.mark.parametrize("door", DOORS)
def test_a_wrong_schedule_is_answered_with_the_same_words(alpha, browser, door):  # noqa: F811 - fixtures
    client = browser(alpha)
    for field, value, sentence in WRONG:
        if field != "every" or door in ("REST", "command"):
            assert sentence in DOORS[door](alpha, client, field, value), (field, value)


def test_a_misspelt_zone_of_a_member_is_answered_with_the_right_one(alpha, browser):  # noqa: F811 - fixtures
    fields = {"timezone": "Europe/Berlinn", "next": "/settings"}

    answer = browser(alpha).post("/settings/save", fields, follow=True)

    assert "Did you mean 'Europe/Berlin'?" in unescape(answer.text)
