from __future__ import annotations

import pytest

from shared.http_headers import RESERVED_HEADERS, check_header, is_secret_header, is_token


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("X-Team", "billing"), ("Authorization", "Bearer a.b~c+/="), ("X-Empty", "")),
        *(("Content-Type", "text/plain; charset=utf-8"), ("x", "a\tb c"), ("Cookie", "a=b")),
    ],
)
def test_ordinary_header_may_be_set(name, value):
    assert check_header(name, value) is None


@pytest.mark.parametrize("name", sorted(RESERVED_HEADERS))
def test_header_of_the_product_is_reserved_in_any_case(name):
    assert check_header(name, "x") == "header_reserved"
    assert check_header(name.title(), "x") == "header_reserved"


@pytest.mark.parametrize("name", ["Proxy-Authorization", "proxy-connection", "PROXY-X"])
def test_every_proxy_header_is_reserved(name):
    assert check_header(name, "x") == "header_reserved"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("", "x"), ("a b", "x"), ("a:", "x"), ("a\r\nb", "x"), ("ä", "x"), ("a" * 257, "x")),
        *(("a\n", "x"), ("a", "x\n"), ("a", "x\r\nb: c"), ("a", "\0"), ("a", " x"), ("a", "x ")),
        *(("a", "\x7f"), ("a", "ü"), ("a", "\x1b[31m"), ("Host ", "x")),
    ],
)
def test_header_that_could_break_a_message_is_invalid(name, value):
    assert check_header(name, value) == "header_invalid"


def test_token_has_no_separator():
    assert is_token("M-SEARCH")
    assert not is_token("GET /")
    assert not is_token("")


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "cookie", "Set-Cookie", "X-Api-Key", "apikey", "X-Access-Key-Id"),
        *("X-Auth-Token", "X-Auth", "X-Client-Secret", "X-Password", "X-Hub-Signature-256"),
        *("X-Credentials", "Private-Token", "X-Key", "X-Session-Id", "X-JWT", "X-Creds"),
        *("Authentication", "X-Authentication", "X-AuthKey", "OAuth", "X-Userauth", "X-Auth0"),
        *("X-Passphrase", "X-Passcode", "X-User-Pass", "X-Pwd", "X-PIN", "X-OTP", "X-CSRF"),
        *("X-Hmac-Sha256", "X-Sig", "X-SAML-Assertion", "LicenseKey", "SubscriptionKey", "SID"),
    ],
)
def test_headers_that_carry_secrets_are_known_by_their_names(name: str):
    assert is_secret_header(name)


@pytest.mark.parametrize(
    "name",
    [
        *("Content-Type", "X-Team", "Retry-After", "X-Author", "Monkey", "Date"),
        *("WWW-Authenticate", "Idempotency-Key", "X-Scheduler-Fencing-Token", "X-Authority"),
        *("X-Pinned", "Bypass", "Signal", "X-Inside", "Ticketing", "Authored-By", "Keyboard"),
    ],
)
def test_other_headers_are_shown(name: str):
    assert not is_secret_header(name)
