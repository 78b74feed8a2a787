from __future__ import annotations

import base64
import hmac
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from delivery.signing import parse_secret, sign
from tenants.signing import new_signing_secret

BODY = '{"n": 1, "text": "ü"}'.encode()


def _headers(signature, timestamp):
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature,
    }


def test_signature_is_accepted_by_the_reference_library():
    secret, now = new_signing_secret(), int(time.time())

    signature = sign([parse_secret(secret)], "msg_1", now, BODY)

    assert Webhook(secret).verify(BODY, _headers(signature, now)) == {"n": 1, "text": "ü"}


def test_signature_equals_the_published_vector():
    secret = parse_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    signature = sign([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(secret=st.binary(min_size=1, max_size=130), body=st.binary(max_size=200))
def test_a_signature_is_an_hmac_whatever_the_length_of_the_key(secret, body):
    found = sign([secret], "m", 7, body)

    digest = hmac.digest(secret, b"m.7." + body, "sha256")
    assert found == "v1," + base64.b64encode(digest).decode()


def test_during_rotation_holders_of_either_secret_accept():
    old, new, now = new_signing_secret(), new_signing_secret(), int(time.time())

    signature = sign([parse_secret(new), parse_secret(old)], "msg_1", now, BODY)

    assert len(signature.split(" ")) == 2
    Webhook(old).verify(BODY, _headers(signature, now))
    Webhook(new).verify(BODY, _headers(signature, now))


def test_changed_body_is_not_accepted():
    secret, now = new_signing_secret(), int(time.time())
    signature = sign([parse_secret(secret)], "msg_1", now, BODY)

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY + b" ", _headers(signature, now))


def test_new_secret_has_32_random_bytes():
    assert len(parse_secret(new_signing_secret())) == 32
    assert new_signing_secret() != new_signing_secret()


@pytest.mark.parametrize(
    "text",
    [
        *("", "whsec_", "whsec_!!!!", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        "whsec_" + base64.b64encode(bytes(23)).decode(),
    ],
)
def test_bad_secret_is_refused_without_showing_it(text):
    with pytest.raises(ValueError, match="signing secret") as caught:
        parse_secret(text)

    assert not text.removeprefix("whsec_") or text not in str(caught.value)
