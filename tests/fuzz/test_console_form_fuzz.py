"""No input of a form answers 500: each text field of each form of the console with hostile strings.

The forms are found by reading the pages, so that a new one is tried without being listed. The
corpus is fixed; a string that once broke a form is added to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from dashboard.task_form.form import EMPTY, read_form
from dashboard.urls import urlpatterns
from notifications.services.rules import list_rules
from shared.exceptions import InvalidInput, TooLarge
from tasks.choices import TARGET_KINDS
from tasks.models import Calendar
from tasks.validation.bodies import parse_create
from tests.dashboard.conftest import browser  # noqa: F401 - fixtures
from tests.factories import daily, make_dead_letter, make_execution, make_task
from tests.support.cast import alpha  # noqa: F401 - fixtures
from tests.tasks.bodies import LIMITS, NOW

#: Kinds of text that broke a form, a database, a log or a parser somewhere.
CORPUS = (
    "",
    " ",
    "\0",
    "a\0b",
    "\x1b[31m\x7f",
    "\u202e\u200d\ufeff",
    "😀" * 60,
    "x" * 70_000,
    "9" * 400,
    "-1",
    "1e400",
    "NaN",
    "0.1e-400",
    "1_0",
    "١٢",
    "18446744073709551616",
    '{"a": 18446744073709551616}',
    '{"a": 1, "a": 2}',
    '{"t": "\\ud83d"}',
    '"\\u0000"',
    "[" * 300 + "]" * 300,
    "[" * 5000,
    "{",
    "http://[::1/x",
    "http://℀.example/x",
    "http://a:99999/",
    "http://\u2100@b\\c/",
    "//[",
    "[::1",
    "a b c d e",
    "H/0 * * * *",
    "0 0 31 2 *",
    "P1Y",
    "PT0.5S",
    "0001-01-01T00:00",
    "9999-12-31T23:59:59",
    "2026-11-25T10:00:00+24:00",
    "Europe/Berlinn",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "%s%(a)s{0}{a.b}${x}{{ x }}",
    "a: b\r\nc: d",
    "=\n=\n:",
    "(?P<a>" * 50,
    "00000000-0000-0000-0000-000000000000",
)
#: Of these fields every one says the same to each form.
_COMMON = ("csrfmiddlewaretoken", "form_key", "form_tenant")
_PASTED = (
    "curl -d '{\"id\": 123456789012345678901234567890}' https://a.example/",
    'curl -d \'{"t": "\\ud83d"}\' https://a.example/',
    "curl -d '" + "[" * 300 + "]" * 300 + "' https://a.example/",
    "curl -G 'http://[::1/x' -d q=1",
    "curl -G 'http://℀.example/x' -d q=1",
    "curl 'http://[::1/x'",
    "curl 'http://℀.example/x'",
    "curl 'http://user:p%zz@[::1/x'",
    "curl $'\\uD800' https://a.example/",
    "curl -H $'a\\x00: b' https://a.example/",
    "curl -u $'a\\x00:b' https://a.example/",
    "curl -d '{\"v\": 1e400}' https://a.example/",
    "curl https://a.example:99999999999/",
    "0 0 * * * curl -d '{\"v\": 1e400}' http://[::1/x",
    "0/5 * * * * x\\",
    "CRON_TZ=Mars/Olympus\n* * * * * x",
    "@every 5 x",
)


@dataclass(slots=True)
class Form:
    """A form of a page: where it is sent, by which method, and its fields as shown."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)


class _Forms(HTMLParser):
    """Collects the forms of a page; buttons with a name are one form each."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.found: list[Form] = []
        self._area = ""
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            method = (given.get("method") or "get").lower()
            self.found.append(Form(given.get("action") or self._path, method))
        if not self.found or not name:
            if (
                tag == "option"
                and self._select
                and ("selected" in given or self._select not in self.found[-1].fields)
            ):
                self.found[-1].fields[self._select] = value
            return
        form = self.found[-1]
        if tag == "input" and given.get("type") not in ("checkbox", "radio", "submit", "button"):
            form.fields[name] = value
            form.texts.add(name)
        elif tag == "textarea":
            form.fields[name] = ""
            form.texts.add(name)
            self._area = name
        elif tag == "select":
            form.texts.add(name)
            self._select = name
        elif tag == "input" and "checked" in given:
            form.fields[name] = value or "on"

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""
        elif tag == "select":
            self._select = ""

    def handle_data(self, data: str) -> None:
        if self._area and self.found:
            self.found[-1].fields[self._area] += data


@dataclass(frozen=True, slots=True)
class Site:
    """A signed-in owner of a tenant that has something of everything, and the pages of it."""

    client: Client
    pages: tuple[str, ...]


@pytest.fixture
def site(alpha, browser) -> Site:  # noqa: F811 - fixtures
    letter = make_dead_letter(alpha)
    task = make_task(alpha, daily())
    calendar = Calendar.objects.create(tenant=alpha, name="Holidays")
    ids = {
        "task_id": task.pk,
        "execution_id": make_execution(alpha, "SUCCEEDED").pk,
        "letter_id": letter.pk,
        "calendar_id": calendar.pk,
        "rule_id": list_rules(alpha.pk)[0].pk,
        "host": "api.example.com",
    }
    pages = [_filled(str(pattern.pattern), ids) for pattern in urlpatterns]
    more = (
        "/bulk-jobs/new?kind=tasks&action=set&q=Daily",
        f"/bulk-jobs/new?kind=dead_letters&action=retry&ids={letter.pk}",
    )
    return Site(browser(alpha), (*(f"/{page}" for page in pages if page is not None), *more))


def _filled(pattern: str, ids: dict[str, Any]) -> str | None:
    for name, value in ids.items():
        for kind in ("uuid", "str"):
            pattern = pattern.replace(f"<{kind}:{name}>", str(value))
    return None if "<" in pattern or pattern == "logout" else pattern


def _forms(site: Site) -> Iterator[Form]:
    seen = set()
    for page in site.pages:
        answer = site.client.get(page)
        if answer.status_code != 200 or "text/html" not in answer["Content-Type"]:
            continue
        reader = _Forms(page)
        reader.feed(answer.text)
        for form in reader.found:
            key = (form.action, form.method, tuple(sorted(form.fields)))
            if key not in seen and "logout" not in form.action:
                seen.add(key)
                yield form


# In steps of three, a form gets a third of the texts, another form another third.
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_no_input_of_a_form_answers_500(site, step):
    forms = list(_forms(site))
    fields = {(form.action, name) for form in forms for name in form.texts}

    for place, form in enumerate(forms):
        names = sorted(form.texts - {*_COMMON})
        for shift in range(0, len(CORPUS) if names else 0, step):
            # One field is wrong among right ones, then all are wrong in different ways.
            name = names[shift // step % len(names)]
            _send(site.client, form, {name: CORPUS[(place + shift) % len(CORPUS)]})
            texts = [CORPUS[(at + shift) % len(CORPUS)] for at in range(len(names))]
            _send(site.client, form, dict(zip(names, texts, strict=True)))

    assert len(forms) > 20
    assert len(fields) > 100


def test_each_field_of_the_task_form_takes_each_text_or_names_an_error():
    """Without pages around it, so that every field meets every text while the others are right."""
    refused = 0
    for kind in TARGET_KINDS:
        shown = {**EMPTY, "kind": kind, "url": "https://a.example/", "cron_expression": "0 8 * * *"}
        for name in shown:
            for text in CORPUS:
                try:
                    parse_create(read_form({**shown, name: text}), now=NOW, limits=LIMITS)
                except (InvalidInput, TooLarge) as error:
                    refused += bool(error.message)

    assert refused > 1000


def test_no_pasted_text_answers_500(site):
    form = next(form for form in _forms(site) if form.action == "/tasks/new")

    for text in (*CORPUS, *_PASTED):
        for prefix in ("", "* * * * * ", "* * * * * root "):
            _send(site.client, form, {"paste": "1", "pasted": prefix + text})


def test_no_hostile_referring_page_answers_500(site):
    task = next(page for page in site.pages if page.endswith("/pause"))

    for text in CORPUS:
        answer = site.client.post(task, {"note": "\0"}, headers={"referer": text})
        assert answer.status_code < 500


def _send(client: Client, form: Form, changes: dict[str, str]) -> None:
    fields = {name: value for name, value in form.fields.items() if name != "form_key"} | changes
    send = client.post if form.method == "post" else client.get
    answer = send(form.action, fields)
    assert answer.status_code < 500, (form.action, changes)
