from __future__ import annotations

import pytest

from shared.redaction import MASK
from tests.tasks.bodies import MINIMAL, create, problems, with_target

URL = "http://proxy.example.com:3128"


def body_of(proxy):
    return with_target({**MINIMAL["target"], "proxy": proxy})


@pytest.mark.parametrize(
    ("proxy", "field", "code"),
    [
        ({}, "/url", "required"),
        ({"url": None}, "/url", "null"),
        ({"url": "proxy.example.com:3128"}, "/url", "url_invalid"),
        ({"url": "https://proxy.example.com:3128"}, "/url", "url_invalid"),
        ({"url": "socks5://proxy.example.com:1080"}, "/url", "url_invalid"),
        ({"url": f"{URL}/path"}, "/url", "url_invalid"),
        ({"url": "http://u:p@proxy.example.com:3128"}, "/url", "url_invalid"),
        ({"url": "http://127.0.0.1:3128"}, "/url", "address_forbidden"),
        ({"url": "http://proxy.example.com:25"}, "/url", "port_forbidden"),
        ({"url": URL, "username": "u"}, "/password", "required"),
        ({"url": URL, "password": "p"}, "/username", "required"),
        ({"url": URL, "username": "a:b", "password": "p"}, "/username", "invalid_characters"),
        ({"url": URL, "username": "u", "password": ""}, "/password", "blank"),
        ({"url": URL, "username": "u", "password": MASK}, "/password", "secret_masked"),
        ({"url": URL, "user": "u"}, "/user", "unknown_field"),
    ],
)
def test_wrong_fields_of_a_proxy_are_named(proxy, field, code):
    assert (f"#/target/proxy{field}", code) in problems(create, body_of(proxy))


@pytest.mark.parametrize("url", [URL, f"{URL}/"])
def test_a_proxy_may_be_without_a_user(url):
    made = create(body_of({"url": url}))

    assert made.target["proxy"] == {"url": url, "username": None, "password": None}
