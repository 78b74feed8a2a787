"""Operators let people in again who are locked out, and end sessions; each is on record."""

from __future__ import annotations

import io
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from events.audit import INSTALLATION
from events.models import AuditEntry
from tenants.models import Identity
from tenants.services.second_factors import has_second_factor
from tests.support.command_documents import read_document
from tests.support.second_factors import enrol

pytestmark = pytest.mark.django_db(transaction=True)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


def _run(*words: str, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    call_command("accounts", *words, stdout=out)
    return out.getvalue()


def _fails(*words: str) -> int:
    with pytest.raises(CommandError) as raised:
        _run(*words)
    return raised.value.returncode


def _actions(user: User) -> list[str]:
    rows = AuditEntry.objects.filter(tenant_id=INSTALLATION, object_id=str(user.pk))
    return list(rows.order_by("sequence").values_list("action", flat=True))


def test_a_login_link_is_shown_on_a_terminal_only(ann):
    assert _fails("login-link", "ann") == 2
    assert _actions(ann) == []

    link = _run("login-link", "ann", out=_Terminal()).strip()

    client = Client()
    assert client.get(urlsplit(link).path).url == "/"  # type: ignore[attr-defined]  # a redirect
    assert _actions(ann)[0] == "user.login_link_made"
    assert link not in str(list(AuditEntry.objects.values()))


def test_a_program_gets_a_login_link_as_a_document(ann):
    document = read_document("accounts-login-link", _run("login-link", "ann", "--json"))

    assert (document["name"], document["minutes"]) == ("ann", 15)


def test_an_inactive_account_gets_no_login_link(ann):
    ann.is_active = False
    ann.save()

    assert _fails("login-link", "ann", "--json") == 3


def test_a_reset_of_the_second_factor_ends_the_sessions_and_is_on_record(ann):
    enrol(ann)

    document = read_document(
        "accounts-reset-second-factor", _run("reset-second-factor", "ann", "--yes", "--json")
    )

    assert document["name"] == "ann"
    assert not has_second_factor(ann.pk)
    assert "user.second_factor_reset" in _actions(ann)
    assert _fails("reset-second-factor", "ann", "--yes") == 3


def test_all_sessions_of_a_person_end(ann):
    client = Client()
    client.force_login(ann)

    document = read_document(
        "accounts-end-sessions", _run("end-sessions", "ann", "--yes", "--json")
    )

    assert document["sessions_ended"] == 1
    assert client.get("/account").status_code == 302


@pytest.mark.parametrize("verb", ["login-link", "reset-second-factor", "end-sessions"])
def test_an_unknown_account_is_not_found(db, verb):
    assert _fails(verb, "nobody", *([] if verb == "login-link" else ["--yes"])) == 3


def _identity(user: User) -> Identity:
    return Identity.objects.create(user=user, issuer="https://id.example.com", subject="s-1")


def test_identities_are_listed_and_unlinked_and_the_sessions_end(ann):
    ann.set_unusable_password()
    ann.save()
    client = Client()
    client.force_login(ann)
    identity = _identity(ann)
    document = read_document("accounts-identities", _run("identities", "ann", "--json"))
    assert [one["subject"] for one in document["identities"]] == ["s-1"]

    ended = read_document(
        "accounts-unlink", _run("unlink", "ann", str(identity.pk), "--yes", "--json")
    )

    assert ended["sessions_ended"] == 1
    assert not Identity.objects.exists()
    assert client.get("/pulse").status_code == 302
    assert _actions(ann)[-2:] == ["user.identity_unlinked", "user.sessions_ended"]


def test_an_identity_of_another_person_is_not_unlinked(ann):
    other = _identity(User.objects.create_user("bob"))

    assert _fails("unlink", "ann", str(other.pk), "--yes") != 0
    assert Identity.objects.exists()
