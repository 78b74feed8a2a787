"""Validation of a webhook's TLS: which certificates it trusts, and which one it shows.

It parses the PEM parts and compares the key with its certificate, so that a wrong one fails here
and not at the first delivery.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from shared.redaction import MASK
from tasks.field_reader import FieldReader
from tasks.limits import PEM_LENGTH, Limits
from tasks.validation.secrets import MASKED

_FIELDS = ("verify", "ca_certificates", "client_certificate", "client_key")
_KEYS = (
    rsa.RSAPrivateKey,
    ec.EllipticCurvePrivateKey,
    ed25519.Ed25519PrivateKey,
    ed448.Ed448PrivateKey,
)
_MOST_RSA_BITS = 8192
_FORBIDDEN = (
    "This deployment does not let certificates go unchecked (WEBHOOK_ALLOW_UNVERIFIED_TLS); "
    "give the receiver's authority as ca_certificates instead."
)


def read_tls(reader: FieldReader, limits: Limits) -> dict[str, Any] | None:
    """Return the TLS options in normal form, or None; note what is wrong."""
    tls = reader.part("tls")
    if tls is None:
        return None
    tls.refuse_unknown(_FIELDS)
    verify = tls.boolean("verify", True)
    if not verify and not limits.allow_unverified_tls:
        tls.error("verify", "tls_unverified_forbidden", _FORBIDDEN)
    found = {
        "verify": verify,
        "ca_certificates": _pem(tls, "ca_certificates", certificate_problem),
        "client_certificate": _pem(tls, "client_certificate", certificate_problem),
        "client_key": _pem(tls, "client_key", key_problem),
    }
    _check_pair(tls, found)
    return found


def certificate_problem(pem: str) -> str:
    """Return what is wrong with the text of one or more certificates, or ''."""
    if "PRIVATE KEY-" in pem:
        return "A private key is a secret; it belongs into client_key."
    try:
        for certificate in x509.load_pem_x509_certificates(pem.encode()):
            certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "Must be one or more certificates in PEM."
    return ""


def key_problem(pem: str) -> str:
    """Return what is wrong with the text of a private key, or ''."""
    try:
        key = _key(pem)
    except TypeError:
        return "The key must not be encrypted; decrypt it before you give it here."
    except (ValueError, UnsupportedAlgorithm):
        return "Must be a private key in PEM."
    if not isinstance(key, _KEYS):
        return "TLS takes RSA, elliptic curve and Edwards curve keys."
    if isinstance(key, rsa.RSAPrivateKey) and not _is_sound(key):
        return f"Must be a valid RSA key of at most {_MOST_RSA_BITS} bits."
    return ""


def _pem(tls: FieldReader, key: str, problem_of: Callable[[str], str]) -> str | None:
    value: str | None = tls.text(key, None, longest=PEM_LENGTH, nullable=True, printable=False)
    if value is None:
        return None
    if value == MASK:
        tls.error(key, "secret_masked", MASKED)
        return None
    if problem := problem_of(value):
        tls.error(key, "pem_invalid", problem)
        return None
    return value


def _check_pair(tls: FieldReader, found: dict[str, Any]) -> None:
    certificate, key = found["client_certificate"], found["client_key"]
    if tls.given("client_certificate") != tls.given("client_key"):
        missing = "client_key" if tls.given("client_certificate") else "client_certificate"
        tls.error(missing, "required", "Give client_certificate and client_key, or neither.")
    elif certificate and key and not _match(certificate, key):
        tls.error("client_key", "key_mismatch", "The key is not that of the first certificate.")


def _match(certificate: str, key: str) -> bool:
    shown = x509.load_pem_x509_certificates(certificate.encode())[0].public_key()
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return bool(shown.public_bytes(*form) == _key(key).public_key().public_bytes(*form))


def _key(pem: str) -> Any:
    # The library's own validation takes seconds for a large key of a caller's choosing.
    return load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)


def _is_sound(key: rsa.RSAPrivateKey) -> bool:
    """Return whether the key's numbers belong together; does not test p and q for primality."""
    if key.key_size > _MOST_RSA_BITS:
        return False
    held = key.private_numbers()
    p, q, public = held.p, held.q, held.public_numbers
    return (
        min(p, q) > 1
        and p % 2 == q % 2 == 1
        and p * q == public.n
        and all(held.d * public.e % (prime - 1) == 1 for prime in (p, q))
        and (held.dmp1, held.dmq1) == (held.d % (p - 1), held.d % (q - 1))
        and held.iqmp * q % p == 1
    )
