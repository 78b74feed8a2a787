"""``manage.py channels``: a URL comes from standard input or a file, and is never printed."""

from __future__ import annotations

import pytest

from notifications.models import AlertChannel, AlertRule
from notifications.services.channels import open_url
from tests.support.alert_channels import TOKEN, URL, allow_loopback, make_channel
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.http_receiver import http_receiver

pytestmark = pytest.mark.django_db


def test_a_channel_is_created_from_standard_input(alpha, monkeypatch):
    type_in(monkeypatch, f"{URL}\n", terminal=False)

    said = call("channels", "create", "on-call", "--kind", "webhook", "--json")

    shown = read_document("channels-create", said.out)
    assert (shown["name"], shown["host"]) == ("on-call", "hooks.example.com")
    assert open_url(AlertChannel.objects.get()) == URL
    assert TOKEN not in said.out + said.err


def test_what_it_gets_and_its_url_are_changed(alpha, tmp_path):
    make_channel(alpha)
    rule = AlertRule.objects.create(tenant=alpha, name="Mine", kind="late_start")
    file = tmp_path / "url"
    file.write_text("https://b.example/x\r\n")
    words = ("--kinds", "did_not_run", "--rules", str(rule.pk), "--name", "night")

    said = call("channels", "change", "on-call", *words, "--new-url", "--file", str(file), "--json")

    shown = read_document("channels-change", said.out)
    assert (shown["name"], shown["kinds"], shown["host"]) == ("night", ["did_not_run"], "b.example")
    assert [one["name"] for one in shown["rules"]] == ["Mine"]


def test_a_file_without_text_is_wrong_use(alpha, tmp_path):
    file = tmp_path / "url"
    file.write_bytes(b"\xff\xfe")

    assert call("channels", "create", "x", "--kind", "chat", "--file", str(file)).code == 2


def test_list_and_show_have_no_url(alpha):
    make_channel(alpha)

    listed = call("channels", "list", "--json").out
    shown = call("channels", "show", "on-call", "--json").out

    assert read_document("channels-list", listed)["total"] == 1
    assert read_document("channels-show", shown)["service"] == "webhook"
    assert TOKEN not in listed + shown + call("channels", "show", "on-call").out
    assert call("channels", "show", "other").code == 3


def test_a_test_prints_the_answer_and_fails_where_it_was_refused(alpha, monkeypatch):
    allow_loopback(monkeypatch)
    with http_receiver() as receiver:
        make_channel(alpha, url=receiver.url)
        taken = call("channels", "test", "on-call")
        receiver.status = 410
        refused = call("channels", "test", "on-call", "--json")

    assert "HTTP 200: ok" in taken.out
    assert refused.code == 1
    document = read_document("channels-test", refused.out)
    assert (document["sent"], document["status"]) == (False, 410)


def test_a_channel_is_removed(alpha):
    made = make_channel(alpha)

    said = call("channels", "remove", "on-call", "--yes", "--json")

    assert read_document("channels-remove", said.out)["removed"] == str(made.pk)
    assert not AlertChannel.objects.exists()
