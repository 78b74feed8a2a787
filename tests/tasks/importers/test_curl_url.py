from __future__ import annotations

import pytest

from tasks.importers.curl_url import called_url, credentials_of, proxy_of


def test_a_url_is_told_apart_from_its_user():
    called = called_url("https://u:p%3A@a.example:8443/x/?y#z", ["q=1"])

    assert called.url == "https://a.example:8443/x/?y&q=1"
    assert called.host == "a.example"
    assert called.auth == {"type": "basic", "username": "u", "password": "p:"}


@pytest.mark.parametrize(
    "text",
    ["http://[::1/x", "http://\u2100.example/x", "http://a:b/", "http://:80/", "http://a:0/"],
)
def test_what_has_no_host_is_refused_by_the_words_of_validation(text):
    with pytest.raises(ValueError, match="no valid host and port"):
        called_url(text, [])
    with pytest.raises(ValueError, match="no valid host and port"):
        proxy_of(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("http://a/{b,c}", True),
        ("http://a/[1-9]", True),
        ("http://a/[a-c:2]", True),
        ("http://{a,b}/", True),
        ("http://a/?x[]=1&y[b]=2&z={id}", False),
        ("http://[::1]/", False),
        # Text that leaves an expression many ways to fail: reading it would take hours.
        ("http://a/{" + "," * 200_000, False),
    ],
)
def test_several_addresses_in_one_are_recognised(text, answer):
    assert called_url(text, []).is_globbed is answer


def test_a_user_and_a_password_make_a_header():
    assert credentials_of({"username": "a", "password": ""}) == ("Authorization", "Basic YTo=")
