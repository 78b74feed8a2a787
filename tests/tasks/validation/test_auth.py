from __future__ import annotations

import pytest

from shared.redaction import MASK
from tests.tasks.bodies import AUTHS, MINIMAL, changed, create, patch, problems, with_target

REFUSED = [
    ({}, "/type", "required"),
    ({"type": "digest"}, "/type", "invalid_choice"),
    ({"type": None}, "/type", "null"),
    ({"type": "basic", "username": "u"}, "/password", "required"),
    ({"type": "basic", "password": "p"}, "/username", "required"),
    ({"type": "basic", "username": "a:b", "password": "p"}, "/username", "invalid_characters"),
    ({"type": "basic", "username": "u", "password": ""}, "/password", "blank"),
    ({"type": "basic", "username": "u", "password": "a\nb"}, "/password", "invalid_characters"),
    ({"type": "basic", "username": "u", "password": 5}, "/password", "invalid_type"),
    ({"type": "basic", "username": "u", "password": None}, "/password", "null"),
    ({"type": "basic", "username": "u", "password": "p", "token": "x"}, "/token", "unknown_field"),
    ({"type": "bearer"}, "/token", "required"),
    ({"type": "bearer", "token": "x" * 4097}, "/token", "too_long"),
    ({"type": "bearer", "token": "ü"}, "/token", "invalid_characters"),
    ({"type": "bearer", "token": MASK}, "/token", "secret_masked"),
    ({"type": "basic", "username": "u", "password": "ü" * 2049}, "/password", "too_long"),
    ({"type": "api_key", "value": "x"}, "/name", "required"),
    ({"type": "api_key", "name": "X-Key"}, "/value", "required"),
    ({"type": "api_key", "name": "X Key", "value": "x"}, "/name", "header_invalid"),
    ({"type": "api_key", "name": "webhook-id", "value": "x"}, "/name", "header_reserved"),
    ({"type": "api_key", "name": "Host", "value": "x"}, "/name", "header_reserved"),
    ({"type": "api_key", "name": "X-Team", "value": "x"}, "/name", "duplicate"),
    ({"type": "api_key", "name": "x-team", "value": "x"}, "/name", "duplicate"),
    ({"type": "api_key", "name": "X-Key", "value": "ü"}, "/value", "invalid_characters"),
    ({"type": "api_key", "name": "X-Key", "value": "x", "in": "body"}, "/in", "invalid_choice"),
    ({**AUTHS["oauth2"], "token_url": "ftp://x.example/"}, "/token_url", "url_invalid"),
    ({**AUTHS["oauth2"], "token_url": "http://10.0.0.1/"}, "/token_url", "address_forbidden"),
    ({**AUTHS["oauth2"], "token_url": "http://a.example:22/"}, "/token_url", "port_forbidden"),
    ({**AUTHS["oauth2"], "client_secret": MASK}, "/client_secret", "secret_masked"),
    ({**AUTHS["oauth2"], "scope": ""}, "/scope", "blank"),
    ({**AUTHS["oauth2"], "audience": 5}, "/audience", "invalid_type"),
    ({**AUTHS["oauth2"], "grant_type": "password"}, "/grant_type", "unknown_field"),
]


def body_of(auth, **target):
    headers = {"X-Team": "billing"}
    return with_target({**MINIMAL["target"], "headers": headers, "auth": auth, **target})


@pytest.mark.parametrize(("auth", "field", "code"), REFUSED)
def test_wrong_fields_of_an_authentication_are_named(auth, field, code):
    assert (f"#/target/auth{field}", code) in problems(create, body_of(auth))


@pytest.mark.parametrize("kind", AUTHS)
def test_every_type_is_kept_as_it_was_given(kind):
    assert create(body_of(AUTHS[kind])).target["auth"] == AUTHS[kind]


def test_what_is_left_out_is_written_out():
    key = {"type": "api_key", "name": "X-Key", "value": "x"}
    oauth2 = {k: v for k, v in AUTHS["oauth2"].items() if k not in ("scope", "audience")}

    assert create(body_of(key)).target["auth"] == {**key, "in": "header"}
    assert create(body_of(oauth2)).target["auth"] == {**oauth2, "scope": None, "audience": None}


@pytest.mark.parametrize("kind", AUTHS)
@pytest.mark.parametrize("name", ["Authorization", "authorization"])
def test_an_authorization_header_beside_an_authentication_is_refused(kind, name):
    body = changed(body_of(AUTHS[kind]), f"target/headers/{name}", "x")

    assert problems(create, body) == {("#/target/auth", "exclusive")}


def test_a_parameter_of_the_query_may_be_called_as_a_header_is():
    key = {"type": "api_key", "name": "X-Team", "value": "k", "in": "query"}

    assert create(body_of(key)).target["auth"] == key


@pytest.mark.parametrize("kind", AUTHS)
@pytest.mark.parametrize("other", AUTHS)
def test_an_edit_to_another_type_keeps_nothing_of_the_old_one(kind, other):
    edited, _ = patch(create(body_of(AUTHS[kind])), {"target": {"auth": AUTHS[other]}})

    assert edited.target["auth"] == AUTHS[other]


def test_a_part_of_an_authentication_may_be_edited_by_itself():
    current = create(body_of(AUTHS["oauth2"]))

    edited, _ = patch(current, {"target": {"auth": {"client_secret": "new", "scope": None}}})

    assert edited.target["auth"] == {**AUTHS["oauth2"], "client_secret": "new", "scope": None}


def test_an_edit_may_take_the_authentication_away():
    edited, _ = patch(create(body_of(AUTHS["basic"])), {"target": {"auth": None}})

    assert edited.target["auth"] is None
