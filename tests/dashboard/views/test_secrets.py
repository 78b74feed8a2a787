"""Named secrets on the console: members see names, admins write, and no page has a value."""

from __future__ import annotations

import pytest

from tasks.models import NamedSecret
from tasks.named_secrets.reading import secrets_for
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.factories import daily, make_task
from tests.support.named_secrets import HOST, VALUE, make_secret, using

PATH = "/settings/secrets"
FORM = {"name": "token", "secret_value": VALUE, "hosts": HOST, "commands": ""}


def value_of(tenant):
    return secrets_for(tenant.id, using()).value_of("token")


def test_a_viewer_sees_names_and_places_of_the_own_tenant(browser, alpha, beta):
    make_secret(alpha, commands=["*"])
    make_secret(beta, "foreign")

    answer = browser(alpha, role="viewer").get(PATH)

    assert answer.status_code == 200
    assert HOST in answer.text
    assert "every command" in answer.text
    assert "foreign" not in answer.text
    assert VALUE not in answer.text
    assert f"{PATH}/named/token" not in answer.text


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_write(browser, alpha, role):
    make_secret(alpha)
    client = browser(alpha, role=role)

    assert client.get(f"{PATH}/new").status_code == 403
    assert client.post(f"{PATH}/new", {**FORM, "name": "other"}).status_code == 403
    assert client.post(f"{PATH}/named/token", FORM).status_code == 403
    assert client.post(f"{PATH}/named/token/remove").status_code == 403
    assert value_of(alpha) == VALUE


def test_an_admin_writes_a_secret_and_no_page_shows_it(browser, alpha):
    client = browser(alpha, role="admin")

    answer = client.post(f"{PATH}/new", FORM, follow=True)

    assert value_of(alpha) == VALUE
    assert VALUE not in answer.text
    assert VALUE not in client.get(f"{PATH}/named/token").text


def test_a_form_with_errors_comes_back_without_the_value(browser, alpha):
    answer = browser(alpha, role="admin").post(f"{PATH}/new", {**FORM, "hosts": "a b/c"})

    assert answer.status_code == 400
    assert VALUE not in answer.text
    assert not NamedSecret.objects.exists()


def test_an_empty_value_stays_and_line_ends_of_a_browser_are_one_character(browser, alpha):
    make_secret(alpha)
    client = browser(alpha, role="admin")

    client.post(f"{PATH}/named/token", {**FORM, "secret_value": "", "version": "1"})
    assert value_of(alpha) == VALUE
    client.post(f"{PATH}/named/token", {**FORM, "secret_value": "a\r\nb", "version": "1"})
    assert value_of(alpha) == "a\nb"


def test_a_form_that_was_opened_before_another_change_changes_nothing(browser, alpha):
    make_secret(alpha)
    client = browser(alpha, role="admin")
    client.post(f"{PATH}/named/token", {**FORM, "secret_value": "second", "version": "1"})

    answer = client.post(f"{PATH}/named/token", {**FORM, "secret_value": "third", "version": "1"})

    assert answer.status_code == 400
    assert value_of(alpha) == "second"


def test_a_secret_shows_its_tasks_and_cannot_be_removed_meanwhile(browser, alpha):
    make_secret(alpha)
    make_task(alpha, daily(name=HOSTILE, target=using()))
    client = browser(alpha, role="admin")

    assert is_escaped(client.get(f"{PATH}/named/token"))
    client.post(f"{PATH}/named/token/remove", follow=True)

    assert NamedSecret.objects.exists()


def test_an_unused_secret_is_removed(browser, alpha):
    make_secret(alpha)

    browser(alpha, role="admin").post(f"{PATH}/named/token/remove")

    assert not NamedSecret.objects.exists()


def test_a_foreign_secret_is_404(browser, alpha, beta):
    make_secret(beta)
    client = browser(alpha, role="admin")

    assert client.get(f"{PATH}/named/token").status_code == 404
    client.post(f"{PATH}/named/token/remove")
    assert NamedSecret.objects.exists()


def test_the_form_of_a_task_offers_the_secrets_and_shows_their_names(browser, alpha, beta):
    make_secret(alpha)
    make_secret(beta, "foreign")
    task = make_task(alpha, daily(target=using()))

    shown = browser(alpha, role="admin").get(f"/tasks/{task.id}/edit").text

    assert "<option>token</option>" in shown
    assert "foreign" not in shown
    assert 'value="{{ secrets.token }}"' in shown
