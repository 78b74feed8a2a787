from __future__ import annotations

import pytest

from shared.http_headers import RESERVED_HEADERS, check_header, is_token


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
