from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from standardwebhooks import Webhook

from receiver.messages import Request
from receiver.signature import SignatureCheck, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def signed(body: bytes, *, at: int | None = None, target: str = "/ok") -> Request:
    seconds = int(time.time()) if at is None else at
    signature = Webhook(SECRET).sign("msg_1", datetime.fromtimestamp(seconds, UTC), body.decode())
    headers = (
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", str(seconds)),
        ("webhook-signature", "v1,bm9wZQ== " + signature),
    )
    return Request("POST", target, headers, body, wall_ns=time.time_ns())


def test_signatures_of_the_standards_own_library_are_accepted():
    assert SignatureCheck(SECRET).accepts(signed(b'{"a": 1}'))


def test_another_body_secret_or_time_is_not_accepted():
    request = signed(b"{}")
    changed = Request("POST", "/ok", request.headers, b"[]", wall_ns=request.wall_ns)

    assert not SignatureCheck(SECRET).accepts(changed)
    assert not SignatureCheck("whsec_" + "A" * 32).accepts(request)
    assert not SignatureCheck(SECRET).accepts(signed(b"{}", at=int(time.time()) - 400))
    assert not SignatureCheck(SECRET).accepts(Request("POST", "/ok"))


@pytest.mark.parametrize("secret", ["whsec_?", "whsec_", "whsec_\u00e9"])
def test_a_secret_that_is_not_base64_is_refused(secret: str):
    with pytest.raises(ValueError, match="whsec_"):
        SignatureCheck(secret)


def test_a_refusal_names_what_is_wrong():
    request, check = signed(b"{}"), SignatureCheck(SECRET)
    changed = Request("POST", "/ok", request.headers, b"[]", wall_ns=request.wall_ns)
    timeless = tuple(pair for pair in request.headers if pair[0] != "webhook-timestamp")
    odd = (*timeless, ("webhook-timestamp", "\u0661"))

    assert check.problem(changed) == "signature_wrong"
    assert check.problem(signed(b"{}", at=1)) == "timestamp_out_of_tolerance"
    assert check.problem(Request("POST", "/ok", odd, b"{}")) == "timestamp_out_of_tolerance"
    assert check.problem(Request("POST", "/ok", timeless, b"{}")) == "signature_missing"


@pytest.mark.parametrize(
    "secret", [SECRET, quote("whsec_" + "+/" * 16, safe=""), "whsec_" + "+/" * 16]
)
def test_verify_takes_the_secret_of_the_query_however_it_is_escaped(secret: str):
    answer = verify(signed(b"{}", target=f"/verify?secret={secret}"), None)

    assert answer.status == (200 if secret == SECRET else 401)


def test_verify_checks_with_the_receivers_own_secret_where_the_query_has_none():
    request = signed(b"{}", target="/verify")

    assert json.loads(verify(request, SignatureCheck(SECRET)).body) == {"verified": True}
    with pytest.raises(ValueError, match="secret is missing"):
        verify(request, None)
