"""A person's own account: password and sessions, and no other person's."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from events.audit import INSTALLATION
from events.models import AuditEntry
from tenants.models import Membership, SignIn, Tenant
from tests.dashboard.asking import messages_of

pytestmark = pytest.mark.django_db
PASSWORD, NEW = "a long password", "correct horse battery"
FORM = {"present_password": PASSWORD, "new_password": NEW, "repeated_password": NEW}


@pytest.fixture
def ann(alpha: Tenant) -> User:
    user = User.objects.create_user("ann", password=PASSWORD)
    Membership.objects.create(user=user, tenant=alpha, role="viewer")
    return user


def signed_in(user: User, **origin: str) -> Client:
    client = Client(**origin)  # type: ignore[arg-type]  # headers as the environment names them
    client.force_login(user)
    return client


def said(client: Client, path: str, **fields: str) -> str:
    [message] = messages_of(client.post(path, fields, follow=True))
    return message


def test_a_viewer_changes_the_password_with_the_present_one(ann):
    client = signed_in(ann)

    message = said(client, "/account/password", **FORM)

    assert message == "The password is changed. All other sessions have ended."
    ann.refresh_from_db()
    assert ann.check_password(NEW)
    entries = AuditEntry.objects.filter(tenant_id=INSTALLATION, object_id=str(ann.pk))
    assert "user.password_set" in entries.values_list("action", flat=True)
    assert NEW not in str(list(entries.values()))


def test_a_change_of_the_password_ends_all_other_sessions_and_renews_this_one(ann):
    client, other = signed_in(ann), signed_in(ann)
    before = client.session.session_key

    said(client, "/account/password", **FORM)

    assert client.get("/pulse").status_code == 204
    assert client.session.session_key != before
    assert other.get("/pulse").status_code == 302
    assert SignIn.objects.filter(ended_by="password").count() == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"present_password": "guess"}, "The present password is wrong."),
        ({"present_password": ""}, "The present password is wrong."),
        ({"repeated_password": "else"}, "The new password and its repetition differ."),
        ({"new_password": PASSWORD, "repeated_password": PASSWORD}, "is the present one"),
        ({"new_password": "short", "repeated_password": "short"}, "too short"),
        ({"new_password": "1029384756102938", "repeated_password": "1029384756102938"}, "numeric"),
        ({"new_password": "password1", "repeated_password": "password1"}, "too common"),
        ({"new_password": "x" * 1001, "repeated_password": "x" * 1001}, "at most 1000"),
    ],
)
def test_a_wrong_proof_or_a_weak_password_changes_nothing(ann, wrong, message):
    client, other = signed_in(ann), signed_in(ann)

    assert message in said(client, "/account/password", **{**FORM, **wrong})

    ann.refresh_from_db()
    assert ann.check_password(PASSWORD)
    assert other.get("/pulse").status_code == 204


def test_of_two_changes_at_once_the_second_is_refused(ann, monkeypatch):
    client = signed_in(ann)
    real = User.check_password

    def other_first(user, raw):
        found = real(user, raw)
        other = User.objects.get(pk=ann.pk)
        other.set_password("set by another session")
        other.save()
        monkeypatch.setattr(User, "check_password", real)
        return found

    monkeypatch.setattr(User, "check_password", other_first)
    client.post("/account/password", FORM)

    ann.refresh_from_db()
    assert ann.check_password("set by another session")


def test_the_page_lists_the_persons_sessions_and_marks_this_one(ann, beta):
    client = Client(HTTP_USER_AGENT="Mozilla/5.0 (X11; Linux) Firefox/140")
    elsewhere = Client(HTTP_USER_AGENT="<b>curl</b>", REMOTE_ADDR="192.0.2.9")
    bob = User.objects.create_user("bob", password=PASSWORD)
    for one, person in ((client, ann), (elsewhere, ann), (Client(REMOTE_ADDR="198.51.100.8"), bob)):
        one.post("/login", {"username": person.username, "password": PASSWORD})

    page = client.get("/account")

    assert page.text.count("this one") == 1
    assert "Firefox on Linux" in page.text
    assert "192.0.2.9" in page.text
    assert "198.51.100.8" not in page.text
    assert "<b>curl" not in page.text
    assert page["Cache-Control"] == "no-store"


def test_a_person_ends_one_of_their_sessions(ann):
    client, other = signed_in(ann), signed_in(ann)
    there = other.session["sign_in"]

    assert said(client, f"/account/sessions/{there}/end") == "The session has ended."

    assert other.get("/pulse").status_code == 302
    assert client.get("/pulse").status_code == 204


def test_a_person_ends_all_other_sessions(ann):
    client, *others = signed_in(ann), signed_in(ann), signed_in(ann)

    assert said(client, "/account/sessions/end") == "2 other sessions ended."

    assert {other.get("/pulse").status_code for other in others} == {302}
    assert client.get("/pulse").status_code == 204


def test_a_session_of_another_person_is_not_there(ann):
    bob = signed_in(User.objects.create_user("bob"))
    client = signed_in(ann)

    answer = client.post(f"/account/sessions/{bob.session['sign_in']}/end")

    assert answer.status_code == 404
    assert SignIn.objects.get(pk=bob.session["sign_in"]).ended_at is None


@pytest.mark.parametrize(
    "path",
    [
        *("/account", "/account/second-factor"),
        *("/account/password", "/account/sessions/end", "/account/second-factor/begin"),
    ],
)
def test_without_a_session_the_pages_lead_to_the_login(client, db, path):
    assert client.get(path).status_code in (302, 405)
    answer = client.post(path, FORM)
    assert answer.status_code in (302, 401)
    assert PASSWORD not in answer.text
    assert NEW not in answer.text


def test_a_person_without_a_tenant_has_an_account_too(db):
    client = signed_in(User.objects.create_user("eve", password=PASSWORD))

    assert client.get("/account").status_code == 200
    assert "changed" in said(client, "/account/password", **FORM)


def test_a_form_from_another_site_is_refused(ann):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann)

    answer = strict.post("/account/password", FORM, headers={"Origin": "https://evil.example"})

    assert answer.status_code == 403
    assert PASSWORD not in answer.text


def test_the_admins_own_page_for_passwords_is_this_one(ann):
    ann.is_staff = ann.is_superuser = True
    ann.save()
    client = signed_in(ann)

    assert client.get("/admin/password_change/").url == "/account"  # type: ignore[attr-defined]  # a redirect
    assert client.post(f"/admin/auth/user/{ann.pk}/password/", {}).url == "/account"  # type: ignore[attr-defined]  # a redirect
