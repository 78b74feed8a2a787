from __future__ import annotations

import dataclasses
from functools import cache

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa, x25519

from shared.redaction import MASK
from tasks.validation.bodies import parse_create
from tasks.validation.tls import certificate_problem, key_problem
from tests.support.certificates import pem_pair
from tests.tasks.bodies import LIMITS, MINIMAL, NOW, create, problems, with_target

pair = cache(pem_pair)


def body_of(tls):
    return with_target({**MINIMAL["target"], "tls": tls})


def pem_of(key, password=None):
    encryption = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    return key.private_bytes(*form, encryption).decode()


def test_everything_that_is_given_is_kept():
    certificate, key = pair()
    tls = {
        "verify": True,
        "ca_certificates": certificate + pair("other.example")[0],
        "client_certificate": certificate,
        "client_key": key,
    }

    assert create(body_of(tls)).target["tls"] == tls


def test_what_is_left_out_is_written_out():
    assert create(body_of({})).target["tls"] == {
        "verify": True,
        "ca_certificates": None,
        "client_certificate": None,
        "client_key": None,
    }


@pytest.mark.parametrize(
    ("tls", "field", "code"),
    [
        ({"verify": "no"}, "/verify", "invalid_type"),
        ({"verify": False}, "/verify", "tls_unverified_forbidden"),
        ({"ca": "x"}, "/ca", "unknown_field"),
        ({"ca_certificates": ""}, "/ca_certificates", "blank"),
        ({"ca_certificates": "x"}, "/ca_certificates", "pem_invalid"),
        ({"ca_certificates": "x" * 40_000}, "/ca_certificates", "too_long"),
        ({"ca_certificates": ["x"]}, "/ca_certificates", "invalid_type"),
        ({"client_certificate": pair()[0]}, "/client_key", "required"),
        ({"client_key": pair()[1]}, "/client_certificate", "required"),
        ({"client_key": "x"}, "/client_key", "pem_invalid"),
        ({"client_key": pair()[0]}, "/client_key", "pem_invalid"),
        ({"client_key": MASK}, "/client_key", "secret_masked"),
        ({"client_certificate": "".join(pair())}, "/client_certificate", "pem_invalid"),
    ],
)
def test_wrong_fields_are_named(tls, field, code):
    assert (f"#/target/tls{field}", code) in problems(create, body_of(tls))


def test_a_key_of_another_certificate_is_refused():
    tls = {"client_certificate": pair()[0], "client_key": pair("other.example")[1]}

    assert problems(create, body_of(tls)) == {("#/target/tls/client_key", "key_mismatch")}


def test_a_deployment_may_let_certificates_go_unchecked():
    limits = dataclasses.replace(LIMITS, allow_unverified_tls=True)

    made = parse_create(body_of({"verify": False}), now=NOW, limits=limits)

    assert made.target["tls"]["verify"] is False


def test_a_certificate_with_its_key_in_one_text_is_refused_since_it_would_be_shown():
    assert "secret" in certificate_problem("".join(pair()))


def test_an_encrypted_key_is_refused():
    key = ec.generate_private_key(ec.SECP256R1())

    assert "encrypted" in key_problem(pem_of(key, b"secret"))


def test_a_key_that_cannot_sign_is_refused():
    assert "elliptic" in key_problem(pem_of(x25519.X25519PrivateKey.generate()))


def test_an_rsa_key_is_taken():
    assert key_problem(pem_of(rsa.generate_private_key(65537, 2048))) == ""


def test_an_rsa_key_whose_numbers_do_not_belong_together_is_refused():
    held = rsa.generate_private_key(65537, 2048).private_numbers()
    wrong = rsa.RSAPrivateNumbers(
        p=held.p,
        q=held.q,
        d=held.d + 2,
        dmp1=held.dmp1,
        dmq1=held.dmq1,
        iqmp=held.iqmp,
        public_numbers=held.public_numbers,
    )

    assert key_problem(pem_of(wrong.private_key(unsafe_skip_rsa_key_validation=True)))


@pytest.mark.parametrize(
    "pem", ["\0", "ü", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_nonsense_is_neither_certificate_nor_key(pem):
    assert certificate_problem(pem)
    assert key_problem(pem)
