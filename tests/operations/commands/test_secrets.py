"""``manage.py secrets``: a value comes from standard input or a file, and is never printed."""

from __future__ import annotations

from typing import Any

import pytest

from events.models import AuditEntry
from tasks.models import NamedSecret
from tasks.named_secrets.reading import secrets_for
from tests.factories import daily, make_task
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.named_secrets import HOST, VALUE, make_secret, using

pytestmark = pytest.mark.django_db


def value_of(tenant: Any) -> str:
    return secrets_for(tenant.id, using()).value_of("token")


def test_a_secret_is_written_from_standard_input(alpha, monkeypatch):
    type_in(monkeypatch, f"{VALUE}\n", terminal=False)

    said = call("secrets", "set", "token", "--host", HOST, "--command", "deploy", "--json")

    shown = read_document("secrets-set", said.out)
    assert (shown["hosts"], shown["commands"], shown["version"]) == ([HOST], ["deploy"], 1)
    assert value_of(alpha) == VALUE
    assert VALUE not in said.out + said.err


def test_a_file_is_read_and_replaces_the_value(alpha, tmp_path):
    make_secret(alpha)
    file = tmp_path / "token"
    file.write_text("from-a-file\r\n")

    assert call("secrets", "set", "token", "--file", str(file)).code == 0

    assert value_of(alpha) == "from-a-file"
    assert NamedSecret.objects.get().hosts == [HOST]


def test_a_file_without_text_is_wrong_use(alpha, tmp_path):
    file = tmp_path / "token"
    file.write_bytes(b"\xff\xfe")

    assert call("secrets", "set", "token", "--host", HOST, "--file", str(file)).code == 2


def test_keep_value_changes_only_where_it_may_go(alpha):
    make_secret(alpha, hosts=[HOST, "other.example"])

    assert call("secrets", "set", "token", "--host", HOST, "--keep-value").code == 0
    assert call("secrets", "set", "token", "--host", "*", "--keep-value").code == 2

    assert (NamedSecret.objects.get().hosts, value_of(alpha)) == ([HOST], VALUE)


def test_list_and_show_say_where_it_may_go_and_who_uses_it(alpha):
    make_secret(alpha)
    make_task(alpha, daily(name="Invoices", target=using()))

    [listed] = read_document("secrets-list", call("secrets", "list", "--json").out)["secrets"]
    shown = read_document("secrets-show", call("secrets", "show", "token", "--json").out)

    assert (listed["name"], listed["tasks"]) == ("token", 1)
    assert [one["name"] for one in shown["used_by"]] == ["Invoices"]
    for out in (call("secrets", "list").out, call("secrets", "show", "token").out):
        assert HOST in out
        assert VALUE not in out
    assert call("secrets", "show", "other").code == 3


def test_remove_asks_first_and_refuses_what_is_in_use(alpha, monkeypatch):
    make_secret(alpha)
    type_in(monkeypatch, "n\n")
    assert call("secrets", "remove", "token").code == 1
    task = make_task(alpha, daily(target=using()))
    assert call("secrets", "remove", "token", "--yes").code == 4
    type(task).objects.filter(pk=task.pk).update(status="CANCELLED")

    removed = read_document(
        "secrets-remove", call("secrets", "remove", "token", "--yes", "--json").out
    )

    assert removed["removed"] == "token"
    assert not NamedSecret.objects.exists()
    assert AuditEntry.objects.filter(action="secret.removed").count() == 1
