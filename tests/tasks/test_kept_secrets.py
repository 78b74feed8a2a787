"""A kept secret goes nowhere new: each secret under each change that moves where a target goes."""

from __future__ import annotations

import copy
from dataclasses import replace as with_parts
from typing import Any

import pytest

from shared.exceptions import InvalidInput
from shared.redaction import MASK
from tasks.definition import Definition, to_long
from tasks.validation.bodies import parse_copy, parse_replace
from tests.support.certificates import pem_pair
from tests.tasks.bodies import AUTHS, COMMAND, LIMITS, MINIMAL, NOW, create, patch, with_target

CERTIFICATE, KEY = pem_pair()
URL = "https://api.example.com/reports"
PROXY = {"url": "http://proxy.example.com:3128", "username": "u", "password": "s3cret"}
#: Pointer of a secret -> the part of the target that holds it.
SECRETS: dict[str, dict[str, Any]] = {
    "auth/password": {"auth": AUTHS["basic"]},
    "auth/token": {"auth": AUTHS["bearer"]},
    "auth/value": {"auth": AUTHS["api_key"]},
    "auth/client_secret": {"auth": AUTHS["oauth2"]},
    "tls/client_key": {"tls": {"client_certificate": CERTIFICATE, "client_key": KEY}},
    "proxy/password": {"proxy": PROXY},
    "headers/Authorization": {"headers": {"Authorization": "Bearer s3cret"}},
    "headers/Cookie": {"headers": {"Cookie": "s3cret"}},
}
#: What moves a webhook: by words in the message, the fields that change.
MOVES: dict[str, dict[str, Any]] = {
    "scheme": {"url": "http://api.example.com/reports"},
    "host": {"url": "https://api.example.com.evil.example/reports"},
    "port": {"url": "https://api.example.com:8443/reports"},
    "proxy": {"proxy": {"url": "http://evil.example:3128"}},
    "certificates": {"tls": {"ca_certificates": CERTIFICATE}},
}


def refusals(call: Any, *arguments: Any) -> dict[str, str]:
    """Return the message of each secret that is required by its pointer; else nothing is wrong."""
    with pytest.raises(InvalidInput) as refused:
        call(*arguments)
    assert {error.code for error in refused.value.errors} == {"secret_required"}
    return {error.pointer: error.message for error in refused.value.errors}


def merged(target: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return the target with the change's objects merged in."""
    found = copy.deepcopy(target)
    for name, value in change.items():
        found[name] = {**(found.get(name) or {}), **value} if isinstance(value, dict) else value
    return found


def replace(current: Definition, body: Any) -> Definition:
    return parse_replace(body, now=NOW, limits=LIMITS, current=current)


def copied(source: Definition, body: Any) -> Definition:
    return parse_copy(source, body, now=NOW, limits=LIMITS)


def holding(secret: str) -> Definition:
    return create(with_target({"url": URL, **SECRETS[secret]}))


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_that_an_edit_leaves_out_does_not_follow_a_move(secret, move):
    found = refusals(patch, holding(secret), {"target": MOVES[move]})

    assert found.keys() == {f"#/target/{secret}"}
    assert move in found[f"#/target/{secret}"]


@pytest.mark.parametrize("call", [replace, copied])
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_mask_that_is_sent_back_does_not_follow_a_move(secret, move, call):
    source = holding(secret)
    body = to_long(source)
    body["target"] = merged(body["target"], MOVES[move])

    assert refusals(call, source, body).keys() == {f"#/target/{secret}"}


@pytest.mark.parametrize("call", [replace, copied, lambda one, body: patch(one, body)[0]])
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_that_is_written_anew_goes_along_even_if_it_is_the_same(secret, move, call):
    source = holding(secret)
    body = to_long(source, secrets=True)
    body["target"] = merged(body["target"], MOVES[move])

    moved = call(source, body).target

    part, key = secret.split("/")
    assert moved[part][key] == source.target[part][key]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_that_is_removed_is_not_asked_for(secret):
    part, key = secret.split("/")
    removal = {"headers": {key: None}} if part == "headers" else {part: None}

    moved, _ = patch(holding(secret), {"target": {"url": "https://b.example/", **removal}})

    assert "s3cret" not in str(moved)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://API.example.com:443/other?x=1"},
        {"method": "PUT", "timeout_seconds": 5},
        {"headers": {"X-Team": "b"}, "tls": {"verify": True}},
    ],
)
def test_an_edit_that_moves_nothing_keeps_the_secret(secret, change):
    source = holding(secret)

    edited, _ = patch(source, {"target": change})

    part, key = secret.split("/")
    assert edited.target[part][key] == source.target[part][key]


def test_another_spelling_of_the_token_url_is_the_same_place():
    source = holding("auth/client_secret")
    edit = {"target": {"auth": {"token_url": "https://AUTH.example.com.:0443/token#a"}}}

    assert patch(source, edit)[0].target["auth"]["client_secret"] == "s3cret"


def test_the_token_url_may_not_change_under_a_kept_client_secret():
    source = holding("auth/client_secret")
    edit = {"target": {"auth": {"token_url": "https://auth.example.com/other-tenant/token"}}}

    assert "token URL" in refusals(patch, source, edit)["#/target/auth/client_secret"]


def test_certificates_may_not_go_unchecked_under_a_kept_secret():
    edit = {"target": {"tls": {"verify": False}}}
    with pytest.raises(InvalidInput) as refused:
        patch(holding("auth/token"), edit)

    found = {(error.pointer, error.code) for error in refused.value.errors}
    assert ("#/target/auth/token", "secret_required") in found


def test_a_proxy_may_not_come_or_go_under_a_kept_secret():
    direct = holding("auth/token")
    by_proxy = create(with_target({"url": URL, "auth": AUTHS["bearer"], "proxy": PROXY}))

    refusals(patch, direct, {"target": {"proxy": {"url": PROXY["url"]}}})
    refusals(patch, by_proxy, {"target": {"proxy": None}})


def test_every_kept_secret_is_named_in_one_answer_beside_what_else_is_wrong():
    source = create(
        with_target(
            {
                "url": URL,
                "auth": AUTHS["api_key"],
                "proxy": PROXY,
                "headers": {"Cookie": "s3cret", "X-Token": "s3cret"},
            }
        )
    )
    edit = {"target": {"url": "https://b.example/", "method": "STEAL"}, "priority": 10}

    with pytest.raises(InvalidInput) as refused:
        patch(source, edit)

    assert {error.pointer for error in refused.value.errors} == {
        "#/priority",
        "#/target/method",
        "#/target/auth/value",
        "#/target/proxy/password",
        "#/target/headers/Cookie",
        "#/target/headers/X-Token",
    }


def test_the_short_form_names_the_secret_where_it_stands_there():
    edit = {"payload": {"webhook_url": "https://b.example/"}}

    assert refusals(patch, holding("auth/token"), edit).keys() == {"#/payload/auth/token"}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"command": "restore"}, "command"),
        ({"arguments": ["--to", "evil.example"]}, "arguments"),
        ({"pool": "elsewhere"}, "pool"),
    ],
)
def test_variables_of_a_command_do_not_follow_another_program_or_other_words(change, word):
    limits = with_parts(LIMITS, commands=frozenset({"backup", "restore"}))
    source = create(with_target(COMMAND))

    with pytest.raises(InvalidInput) as refused:
        parse_replace(
            with_target({**to_long(source)["target"], **change}),
            now=NOW,
            limits=limits,
            current=source,
        )

    found = {error.pointer: error for error in refused.value.errors}
    assert found.keys() == {"#/target/environment/TOKEN", "#/target/environment/MODE"}
    assert {error.code for error in found.values()} == {"secret_required"}
    assert word in found["#/target/environment/TOKEN"].message


def test_another_kind_of_target_keeps_nothing_that_could_be_asked_for():
    edited, _ = patch(
        create(with_target(COMMAND)), {"target": {"kind": "webhook", "url": "https://b.example/"}}
    )

    assert "s3cret" not in str(edited)


def test_a_stored_url_that_cannot_be_read_counts_as_another_place():
    source = create(MINIMAL | {"target": {"url": URL, "auth": AUTHS["bearer"]}})
    broken = with_parts(source, target={**source.target, "url": "ftp://x"})

    found = refusals(patch, broken, {"target": {"url": URL}})

    assert "the URL" in found["#/target/auth/token"]


def test_templates_behind_the_host_move_nothing():
    source = create(with_target({"url": URL, "template": True, "auth": AUTHS["bearer"]}))

    edited, _ = patch(source, {"target": {"url": "https://api.example.com/{{ attempt }}"}})

    assert edited.target["auth"] == AUTHS["bearer"]
    assert MASK not in str(edited)
