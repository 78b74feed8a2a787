from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tenants.authority import OPERATOR
from tenants.models import ApiKey
from tests.support.api import ApiClient, make_key
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command("apikey", *words, stdout=out)
    return out.getvalue()


def _fails(*words: str) -> int:
    with pytest.raises(CommandError) as raised:
        _run(*words)
    return raised.value.returncode


def test_create_makes_a_key_with_the_scopes_asked_for(alpha):
    words = ("--scope", "worker", "--expires-at", "2999-01-01T00:00:00Z", "--json")
    document = read_document(
        "apikey-create", _run("create", "--tenant", "Alpha", "--name", "ci", *words)
    )

    assert ApiClient(document["key"]).get("/v1/me").json()["scopes"] == ["worker"]
    assert document["key"].startswith(document["prefix"])


def test_list_shows_prefixes_and_never_keys(alpha):
    made, key = make_key(alpha)

    for text in (
        _run("list", "--tenant", str(alpha.id)),
        _run("list", "--tenant", "Alpha", "--json"),
    ):
        assert made.prefix in text
        assert key not in text


@pytest.mark.parametrize("by", ["id", "prefix"])
def test_a_revoked_key_is_refused_from_then_on(alpha, by):
    made, key = make_key(alpha)

    _run("revoke", str(getattr(made, by)), "--yes")

    assert ApiClient(key).get("/v1/me").status_code == 401


def test_rotate_makes_a_follower_and_ends_the_old_key(alpha):
    made, key = make_key(alpha)

    document = read_document(
        "apikey-rotate",
        _run("rotate", str(made.id), "--overlap-seconds", "0", "--yes", "--json"),
    )

    assert ApiClient(document["key"]).get("/v1/me").status_code == 200
    assert ApiClient(key).get("/v1/me").status_code == 401


def test_a_rotated_key_that_expires_is_followed_by_one_that_expires(alpha):
    words = ("--tenant", "Alpha", "--name", "ci", "--expires-at", "2999-01-01T00:00:00Z", "--json")
    made = json.loads(_run("create", *words))

    follower = json.loads(_run("rotate", made["id"], "--yes", "--json"))
    assert ApiKey.objects.filter(pk=follower["id"], expires_at__year=2999).exists()
    other = json.loads(
        _run("rotate", follower["id"], "--expires-at", "2999-06-01T00:00:00Z", "--yes", "--json")
    )

    ends = {str(key.pk): str(key.expires_at) for key in ApiKey.objects.all()}
    assert ends[other["id"]] == "2999-06-01 00:00:00+00:00"


def test_edit_changes_what_is_named_and_nothing_else(alpha):
    made, key = make_key(alpha, ["read", "write"])
    words = ("--address", "127.0.0.1", "--address", "2001:db8::/32", "--json")

    document = read_document("apikey-edit", _run("edit", made.prefix, *words))

    assert document["addresses"] == ["127.0.0.1/32", "2001:db8::/32"]
    assert (document["name"], document["scopes"]) == ("test", ["read", "write"])
    _run("edit", made.prefix, "--scope", "read", "--name", "new", "--any-address")
    found = ApiKey.objects.get()
    assert (found.name, found.scopes, found.addresses) == ("new", ["read"], [])
    _run("edit", made.prefix, "--expires-at", "2999-01-01T00:00:00Z")
    assert ApiKey.objects.filter(expires_at__year=2999).exists()
    _run("edit", made.prefix, "--no-expiry")
    assert ApiKey.objects.get().expires_at is None
    assert ApiClient(key).get("/v1/me").status_code == 200


def test_a_key_is_made_for_addresses(alpha):
    words = ("--tenant", "Alpha", "--name", "ci", "--address", "203.0.113.0/24", "--json")
    made = json.loads(_run("create", *words))

    assert ApiClient(made["key"]).get("/v1/me").json()["code"] == "address_not_allowed"


def test_exit_codes_say_what_was_wrong(alpha):
    made, _ = make_key(alpha)

    assert _fails("create", "--tenant", "Gamma", "--name", "x") == 3
    assert _fails("create", "--tenant", "Alpha", "--name", "x", "--expires-at", "soon") == 2
    assert _fails("revoke", "pk_unknown", "--yes") == 3
    assert _fails("rotate", made.prefix, "--expires-at", "2001-01-01T00:00:00Z", "--yes") == 2
    assert _fails("rotate", made.prefix, "--overlap-seconds", "-1", "--yes") == 2
    assert _fails("rotate", made.prefix, "--overlap-seconds", "604801", "--yes") == 2
    assert _fails("edit", made.prefix) == 2
    assert _fails("edit", made.prefix, "--address", "203.0.113.7/24") == 2
    assert _fails("edit", "pk_unknown", "--name", "x") == 3
    _run("rotate", made.prefix, "--yes")
    assert _fails("rotate", str(made.id), "--yes") == 4
    _run("revoke", str(made.id), "--yes")
    assert _fails("edit", str(made.id), "--name", "x") == 4


@pytest.mark.parametrize("name", ["x" * 201, " "])
def test_a_name_that_no_column_takes_is_refused(alpha, name):
    key = make_key(alpha)[0]

    assert _fails("edit", str(key.id), "--name", name) == 2
    assert _fails("create", "--tenant", "Alpha", "--name", name) == 2


def test_a_prefix_of_several_keys_is_not_enough(alpha):
    from shared.actor import COMMAND
    from tenants.services import create_api_key

    for end in "ab":
        create_api_key(
            alpha,
            name="x",
            scopes=["read"],
            key="same-prefix-" + end * 30,
            actor=COMMAND,
            by=OPERATOR,
        )

    assert _fails("revoke", "same-prefix-", "--yes") == 2


def test_documents_keep_their_schemas(alpha):
    made, _ = make_key(alpha)

    listed = read_document("apikey-list", _run("list", "--tenant", "Alpha", "--json"))
    revoked = read_document("apikey-revoke", _run("revoke", made.prefix, "--yes", "--json"))

    assert [found["prefix"] for found in listed["api_keys"]] == [made.prefix]
    assert revoked["id"] == str(made.id)


def test_a_key_without_the_sight_of_payloads_reads_only_unless_told(alpha):
    _run("create", "--tenant", "Alpha", "--name", "blind", "--no-payloads")

    made = ApiKey.objects.get(name="blind")
    assert (made.scopes, made.sees_payloads) == (["read"], False)
