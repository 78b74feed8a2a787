from __future__ import annotations

from typing import Any

import orjson
import pytest

from scheduler_site.backup import wrapping
from scheduler_site.backup.wrapping import WrongPassphrase, unwrap, wrap

SECRETS = {"encryption_keys": "k1:AAAA", "secret_key": "s"}
PASSPHRASE = "correct horse battery"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapping, "_COST", 2)


def changed(wrapped: bytes, **parts: Any) -> bytes:
    return orjson.dumps({**orjson.loads(wrapped), **parts})


def test_secrets_come_back_with_their_passphrase_and_context():
    wrapped = wrap(SECRETS, PASSPHRASE, b"manifest")

    assert unwrap(wrapped, PASSPHRASE, b"manifest") == SECRETS
    assert b"AAAA" not in wrapped


def test_two_wrappings_have_nothing_in_common():
    first, second = (orjson.loads(wrap(SECRETS, PASSPHRASE, b"m")) for _ in range(2))

    assert not {first[name] for name in ("salt", "nonce", "sealed")} & set(second.values())


@pytest.mark.parametrize(
    ("passphrase", "context"), [("correct horse batterx", b"m"), (PASSPHRASE, b"another manifest")]
)
def test_another_passphrase_or_context_opens_nothing(passphrase: str, context: bytes):
    with pytest.raises(WrongPassphrase):
        unwrap(wrap(SECRETS, PASSPHRASE, b"m"), passphrase, context)


@pytest.mark.parametrize(
    "parts",
    [
        {"form": "rot13"},
        {"cost": 2**30},
        {"cost": 1},
        {"cost": 3},
        {"cost": "2"},
        {"salt": "?"},
        {"nonce": ""},
        {"sealed": "AAAA"},
        {"sealed": None},
    ],
)
def test_a_changed_wrapping_is_refused(parts: dict[str, Any]):
    wrapped = changed(wrap(SECRETS, PASSPHRASE, b"m"), **parts)

    with pytest.raises(WrongPassphrase):
        unwrap(wrapped, PASSPHRASE, b"m")


@pytest.mark.parametrize("wrapped", [b"", b"[]", b"{}", b"\xff"])
def test_what_is_no_wrapping_is_refused(wrapped: bytes):
    with pytest.raises(WrongPassphrase):
        unwrap(wrapped, PASSPHRASE, b"m")
