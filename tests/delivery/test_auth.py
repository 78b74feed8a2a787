from __future__ import annotations

import base64
from typing import Any

import pytest

from delivery.auth import (
    ClientCredentials,
    HeaderAuth,
    QueryAuth,
    authenticated,
    header_names,
    read_auth,
)
from shared.addresses import AllowList, UrlError
from tests.delivery.calls import request_to

OAUTH = {
    "type": "oauth2",
    "token_url": "https://id.example/token",
    "client_id": "c",
    "client_secret": "s3cret",
    "scope": "a b",
    "audience": None,
}


def read(**auth: Any) -> Any:
    return read_auth(auth, AllowList(), ())


def headers_of(found: Any, **request: Any) -> list[tuple[str, str]]:
    return list(authenticated(request_to(80, **request), found).headers)


def test_no_authentication_is_none():
    assert read_auth(None, AllowList(), ()) is None
    assert header_names(None) == frozenset()


def test_basic_is_username_and_password_in_utf8():
    found = read(type="basic", username="ü", password="p:w")

    expected = "Basic " + base64.b64encode("ü:p:w".encode()).decode()
    assert headers_of(found)[-1] == ("Authorization", expected)


def test_bearer_is_the_token():
    assert headers_of(read(type="bearer", token="t"))[-1] == ("Authorization", "Bearer t")


def test_a_key_in_a_header_replaces_one_of_the_same_name():
    found = read(type="api_key", name="X-Key", value="v", **{"in": "header"})

    assert headers_of(found, headers=[("x-key", "old"), ("A", "b")]) == [
        ("A", "b"),
        ("X-Key", "v"),
    ]
    assert header_names(found) == {"x-key"}


@pytest.mark.parametrize(
    ("path", "sent"), [("/a", "/a?k%20y=a%26b%3Dc%23"), ("/a?x=1", "/a?x=1&k%20y=a%26b%3Dc%23")]
)
def test_a_key_in_the_query_ends_nothing(path: str, sent: str):
    found = read(type="api_key", name="k y", value="a&b=c#", **{"in": "query"})

    request = authenticated(request_to(8000, path=path), found)

    assert request.url.path_and_query == sent
    assert isinstance(found, QueryAuth)
    assert header_names(found) == frozenset()


def test_client_credentials_are_read_and_show_no_secret():
    found = read(**OAUTH)

    assert isinstance(found, ClientCredentials)
    assert (found.token_url.host, found.scope, found.audience) == ("id.example", "a b", None)
    assert "s3cret" not in repr(found)
    assert header_names(found) == {"authorization"}


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/", "http://0x7f.1/"])
def test_a_token_endpoint_that_may_not_be_called_is_refused(url: str):
    with pytest.raises(UrlError):
        read(**{**OAUTH, "token_url": url})


def test_an_unknown_type_is_an_error():
    with pytest.raises(ValueError, match="unknown type"):
        read(type="kerberos")


def test_what_proves_is_never_shown():
    assert "s3cret" not in repr([HeaderAuth("A", "s3cret"), QueryAuth("A", "s3cret")])
