"""API keys on the console: shown once, changed within the member's rights, and nobody else's."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from shared.actor import COMMAND
from tenants.authority import OPERATOR
from tenants.models import ApiKey, Membership
from tenants.services import create_api_key, edit_api_key, revoke_api_key, rotate_api_key
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.support.api import ApiClient, make_key
from tests.support.stored_answers import stored_answers

PATH = "/settings/api-keys"
FORM = {"name": "ci", "scopes": ["read", "write"], "addresses": "", "expires_at": ""}
_TEXT = re.compile(r'<code id="key-text"[^>]*>(pk_[^<]+)</code>')


def _text_of(answer) -> str:
    found = _TEXT.search(answer.text)
    assert found, answer.text[:2000]
    return found[1]


def test_keys_are_listed_with_what_they_may_do_and_their_last_use(browser, alpha, beta):
    create_api_key(
        alpha,
        name="listed",
        scopes=["read"],
        addresses=["203.0.113.0/24"],
        actor=COMMAND,
        by=OPERATOR,
    )
    ApiKey.objects.update(last_used_at=timezone.now(), last_used_address="203.0.113.7")
    make_key(beta)
    gone, _ = make_key(alpha)
    revoke_api_key(alpha.id, gone.id, actor=COMMAND, by=OPERATOR)

    answer = browser(alpha, role="admin").get(PATH)

    assert [key.state for key in answer.context["rows"]] == ["revoked", "valid"]
    assert "203.0.113.0/24" in answer.text
    assert "from 203.0.113.7" in answer.text


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_see_keys(browser, alpha, role):
    key, _ = make_key(alpha)
    client = browser(alpha, role=role)

    for path in (PATH, f"{PATH}/new", f"{PATH}/{key.id}/edit"):
        assert client.get(path).status_code == 403
    for verb in ("edit", "rotate", "revoke"):
        assert client.post(f"{PATH}/{key.id}/{verb}", FORM).status_code == 403
    assert client.post(f"{PATH}/new", FORM).status_code == 403
    assert ApiKey.objects.get(pk=key.pk).revoked_at is None
    assert PATH not in client.get("/settings").text


def test_a_key_is_made_and_shown_once(browser, alpha):
    client = browser(alpha, role="admin")
    form = {**FORM, "addresses": "127.0.0.1\n2001:db8::/32", "form_key": "a" * 32}

    answer = client.post(f"{PATH}/new", form)

    text = _text_of(answer)
    assert answer["Cache-Control"] == "no-store"
    assert ApiClient(text).get("/v1/me").json()["scopes"] == ["read", "write"]
    made = ApiKey.objects.get()
    assert made.addresses == ["127.0.0.1/32", "2001:db8::/32"]
    assert audited(alpha) == [("api_key.created", user_of(client))]
    again = client.post(f"{PATH}/new", form)
    assert again.status_code == 200
    assert again["Content-Type"].startswith("text/html")
    assert "is not shown again" in again.text
    assert text not in again.text + stored_answers()
    assert ApiKey.objects.count() == 1
    assert text not in client.get(PATH).text


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": ""}, "Give the key a name."),
        ({"scopes": []}, "Give at least one of"),
        ({"scopes": ["root"]}, "Give at least one of"),
        ({"addresses": "203.0.113.7/24"}, "Write 203.0.113.0/24."),
        ({"expires_at": "soon"}, "Give a date and time, or nothing."),
        ({"expires_at": "2001-01-01T00:00:00"}, "This time is past."),
        ({"name": "x" * 201}, "Name"),
    ],
)
def test_a_form_with_a_mistake_is_shown_again_with_what_was_typed(browser, alpha, fields, problem):
    answer = browser(alpha).post(f"{PATH}/new", {**FORM, "addresses": "10.0.0.1", **fields})

    assert answer.status_code == 400
    assert problem in answer.text
    assert fields.get("addresses", "10.0.0.1") in answer.text
    assert not ApiKey.objects.exists()


def test_only_an_owner_makes_and_changes_keys_of_owners(browser, alpha):
    admin, owner = browser(alpha, role="admin"), browser(alpha, role="owner")
    key, _ = make_key(alpha, owner=True)

    refused = admin.post(f"{PATH}/new", {**FORM, "owner": "on"})
    assert "may do more than itself" in refused.text
    for verb in ("edit", "rotate", "revoke"):
        admin.post(f"{PATH}/{key.id}/{verb}", {**FORM, "overlap_seconds": "0"})
    found = ApiKey.objects.get()
    assert (found.name, found.replaced_by, found.revoked_at) == ("test", None, None)
    assert f"{PATH}/{key.id}/edit" not in admin.get(PATH).text

    assert (
        ApiClient(_text_of(owner.post(f"{PATH}/new", {**FORM, "owner": "on"})))
        .get("/v1/me")
        .json()["api_key"]["owner"]
    )
    said(owner, f"{PATH}/{key.id}/revoke", {}, PATH)
    assert ApiKey.objects.get(pk=key.pk).revoked_at is not None


def test_a_key_is_edited_and_fields_that_are_shown_in_seconds_stay(browser, alpha):
    end = timezone.now() + timedelta(days=1)
    key, _ = create_api_key(
        alpha, name="old", scopes=["read"], expires_at=end, actor=COMMAND, by=OPERATOR
    )
    client = browser(alpha, role="admin")
    shown = client.get(f"{PATH}/{key.id}/edit").context["fields"]

    client.post(f"{PATH}/{key.id}/edit", {**shown, "name": "new", "addresses": "10.0.0.0/8"})

    found = ApiKey.objects.get()
    assert (found.name, found.scopes, found.addresses) == ("new", ["read"], ["10.0.0.0/8"])
    assert found.expires_at == end
    client.post(f"{PATH}/{key.id}/edit", {**FORM, "expires_at": ""})
    assert ApiKey.objects.get().expires_at is None


@pytest.mark.parametrize("change", ["edit", "rotate"])
def test_a_form_that_was_opened_before_another_change_does_not_undo_it(browser, alpha, change):
    key, _ = create_api_key(alpha, name="old", scopes=["read", "write"], actor=COMMAND, by=OPERATOR)
    client = browser(alpha, role="admin")
    path = f"{PATH}/{key.id}/edit"
    opened = client.get(path).context
    if change == "edit":
        edit_api_key(alpha.id, key.id, {"scopes": ["read"]}, actor=COMMAND, by=OPERATOR)
    else:
        rotate_api_key(alpha.id, key.id, actor=COMMAND, by=OPERATOR)
    as_changed = ApiKey.objects.values().get(pk=key.pk)

    refused = client.post(path, {**opened["fields"], "seen": opened["seen"], "name": "new"})

    assert refused.status_code == 400
    assert "changed in the meantime" in refused.text
    assert ApiKey.objects.values().get(pk=key.pk) == as_changed
    now = client.get(path).context
    client.post(path, {**now["fields"], "seen": now["seen"], "name": "new"})
    assert ApiKey.objects.get(pk=key.pk).name == "new"


def test_a_rotation_shows_the_new_key_once_and_keeps_the_old_one_for_the_overlap(browser, alpha):
    key, old = make_key(alpha)
    client = browser(alpha, role="admin")
    path = f"{PATH}/{key.id}/rotate"
    assert client.get(path).status_code == 405

    text = _text_of(client.post(path, {"overlap_seconds": "3600"}))

    for one in (old, text):
        assert ApiClient(one).get("/v1/me").status_code == 200
    answer = client.get(PATH)
    assert [one.state for one in answer.context["rows"]] == ["valid", "being replaced"]
    refused = said(client, path, {"overlap_seconds": "0"}, PATH)
    assert "rotated already" in refused


@pytest.mark.parametrize("given", ["", "7", "x", "604801", "-1"])
def test_an_overlap_that_is_not_offered_is_refused(browser, alpha, given):
    key, _ = make_key(alpha)

    said(browser(alpha), f"{PATH}/{key.id}/rotate", {"overlap_seconds": given}, PATH)

    assert ApiKey.objects.count() == 1


def test_a_member_who_has_just_lost_the_role_changes_nothing(browser, alpha, monkeypatch):
    key, _ = make_key(alpha)
    client = browser(alpha, role="admin")

    def demoted(request):
        Membership.objects.update(role="viewer")
        return authority(request)

    from dashboard.views import api_keys

    authority = api_keys._authority
    monkeypatch.setattr(api_keys, "_authority", demoted)

    said(client, f"{PATH}/{key.id}/revoke", {}, PATH)

    assert ApiKey.objects.get().revoked_at is None


def test_keys_of_other_tenants_are_404(browser, alpha, beta):
    key, _ = make_key(beta)
    rotate_api_key(beta.id, key.id, actor=COMMAND, by=OPERATOR)
    client = browser(alpha)

    assert client.get(f"{PATH}/{key.id}/edit").status_code == 404
    assert client.post(f"{PATH}/{key.id}/edit", FORM).status_code == 404
    for verb in ("rotate", "revoke"):
        text = said(client, f"{PATH}/{key.id}/{verb}", {"overlap_seconds": "0"}, PATH)
        assert text == "There is no such API key."


def test_hostile_names_are_shown_as_text(browser, alpha):
    key, _ = create_api_key(alpha, name=HOSTILE, scopes=["read"], actor=COMMAND, by=OPERATOR)
    client = browser(alpha)

    for path in (PATH, f"{PATH}/{key.id}/edit"):
        assert is_escaped(client.get(path)), path


def test_a_list_costs_the_same_with_many_keys(browser, alpha):
    client = browser(alpha)
    make_key(alpha)
    few = queries_for(client, PATH)
    for _ in range(10):
        make_key(alpha)

    assert queries_for(client, PATH) == few


def test_a_page_without_keys_says_what_they_are_for(browser, alpha):
    assert "No API key yet" in browser(alpha).get(PATH).text
