"""The fields of a webhook: criteria of success, secrets that are never shown, certificates."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dashboard.task_form.values import Form
from dashboard.task_form.webhook import (
    AUTH_PARTS,
    EMPTY,
    FIELD_OF,
    read_webhook,
    show_webhook,
    stored_secrets,
)
from shared.redaction import MASK
from tasks.choices import AUTH_TYPES
from tasks.definition import TARGET_DEFAULTS
from tasks.masking import SECRET_FIELDS, mask_target
from tests.tasks.bodies import AUTHS, WEBHOOK

PEM = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nxyz\n-----END PRIVATE KEY-----\n"
TLS = {"verify": True, "ca_certificates": PEM, "client_certificate": PEM, "client_key": KEY}


def read(fields: dict[str, str], base: dict[str, Any] | None = None) -> tuple[dict[str, Any], Form]:
    shown = {**EMPTY, **(show_webhook(base) if base else {})}
    form = Form({**shown, **fields}, shown if base else {}, {}, [])
    return read_webhook(form, base or {}), form


def webhook(**parts: Any) -> dict[str, Any]:
    return copy.deepcopy({**TARGET_DEFAULTS, "url": "https://api.example.com/", **parts})


def test_every_field_of_a_webhook_has_its_place_in_the_form():
    assert {name.split("/")[0] for name in FIELD_OF} == {*TARGET_DEFAULTS} - {"kind"}
    assert set(AUTH_PARTS) == set(AUTH_TYPES)
    secrets = {f"{part}/{name}" for part, names in SECRET_FIELDS.items() for name in names}
    assert secrets <= set(FIELD_OF)


def test_what_is_shown_is_read_again():
    for target in map(mask_target, (WEBHOOK, webhook(tls=TLS), webhook())):
        found, form = read({}, target)

        assert {**found, "kind": "webhook"} == target
        assert form.errors == []


@pytest.mark.parametrize("auth", [*AUTHS.values()], ids=lambda auth: auth["type"])
def test_a_secret_is_not_shown_and_an_empty_field_keeps_it(auth):
    target = mask_target(webhook(auth=auth))

    shown = show_webhook(target)
    found, _ = read({}, target)

    assert MASK not in str(shown)
    assert len(stored_secrets(target)) == 1
    assert found["auth"] == target["auth"]


def test_a_typed_secret_takes_the_place_of_the_stored_one():
    found, _ = read({"auth_password": " new "}, webhook(auth=AUTHS["basic"]))

    assert found["auth"] == {"type": "basic", "username": "u", "password": " new "}


def test_another_kind_of_authentication_keeps_no_secret():
    found, _ = read({"auth_type": "bearer"}, webhook(auth=AUTHS["basic"]))

    assert found["auth"] == {"type": "bearer", "token": ""}
    assert read({"auth_type": "none"}, webhook(auth=AUTHS["basic"]))[0]["auth"] is None


def test_an_unknown_kind_of_authentication_is_said_at_its_field():
    _, form = read({"auth_type": "kerberos"})

    assert [error.pointer for error in form.errors] == ["#/target/auth/type"]


def test_certificates_are_kept_to_the_letter_and_the_key_is_not_shown():
    target = mask_target(webhook(tls=TLS))

    assert MASK not in str(show_webhook(target))
    assert stored_secrets(target) == ["tls_client_key"]
    other = PEM.replace("abc", "def")
    found, _ = read({"tls_ca_certificates": other.replace("\n", "\r\n")}, target)
    assert found["tls"] == {**TLS, "ca_certificates": other, "client_key": MASK}


def test_without_its_certificate_a_key_goes_too():
    found, _ = read({"tls_client_certificate": ""}, webhook(tls=TLS))

    assert found["tls"] == {**TLS, "client_certificate": None, "client_key": None}
    emptied = {"tls_client_certificate": "", "tls_ca_certificates": ""}
    assert read(emptied, webhook(tls=TLS))[0]["tls"] is None


def test_a_proxy_without_a_name_has_no_password():
    found, _ = read({"proxy_username": ""}, WEBHOOK)

    assert found["proxy"] == {"url": WEBHOOK["proxy"]["url"], "username": None, "password": None}
    assert read({"proxy_url": ""}, WEBHOOK)[0]["proxy"] is None
    kept, _ = read({"proxy_url": "http://other.example.com:3128"}, mask_target(WEBHOOK))
    assert kept["proxy"]["password"] == MASK


@pytest.mark.parametrize(
    ("text", "value"),
    [("done", "done"), ('"true"', "true"), ("true", True), ("1.5", 1.5), ("null", None)],
)
def test_a_value_in_the_body_is_json_or_a_word(text, value):
    fields = {"success_json_path": "$.status", "success_json_equals": text}

    found, _ = read(fields)

    assert found["success"]["json"] == {"path": "$.status", "equals": value}
    assert show_webhook({"success": found["success"]})["success_json_equals"] == text


def test_criteria_that_are_emptied_are_no_more():
    emptied = {name: "" for name in show_webhook(WEBHOOK) if name.startswith("success_")}

    found, _ = read({**emptied, "success_statuses": "204, 3xx"}, WEBHOOK)

    assert found["success"] == {"statuses": ["204", "3xx"]}


def test_a_longest_run_belongs_to_long_jobs_alone():
    found, _ = read({"completion": "response"}, WEBHOOK)

    assert found["max_runtime_seconds"] is None
