from __future__ import annotations

from typing import Any

import pytest

from notifications.origins import is_own, ticket_of


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", ".example.com"]
    settings.PUBLIC_URL = "https://punctual.example.org"


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://127.0.0.1:8000", "localhost:8000"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("https://app.example.com", "app.example.com"),
        ("http://app.example.com:80", "app.example.com"),
        ("https://punctual.example.org", "127.0.0.1:8000"),
        ("https://punctual.example.org:443", "backend"),
    ],
)
def test_pages_of_this_site_pass(origin: str, host: str):
    assert is_own(origin, host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example", "localhost:8000"),
        ("http://localhost:3000", "localhost:8000"),
        ("http://localhost.evil.example:8000", "localhost:8000"),
        ("http://evil.example:8000", "evil.example:8000"),
        ("http://punctual.example.org", "127.0.0.1:8000"),
        ("https://punctual.example.org:8443", "127.0.0.1:8000"),
        ("null", "localhost:8000"),
        ("", "localhost:8000"),
        ("file:///etc/passwd", "localhost:8000"),
        ("chrome-extension://localhost:8000", "localhost:8000"),
        ("http://localhost:port", "localhost:8000"),
        ("http://[::1", "localhost:8000"),
        ("http://localhost:8000", "localhost:x"),
        ("http://localhost:8000", ""),
    ],
)
def test_other_pages_do_not(origin: str, host: str):
    assert not is_own(origin, host)


def test_where_every_host_is_allowed_the_page_must_be_the_hosts_own(settings: Any):
    settings.ALLOWED_HOSTS = ["*"]

    assert is_own("http://any.example:8000", "any.example:8000")
    assert not is_own("http://evil.example:8000", "any.example:8000")


@pytest.mark.parametrize(
    ("query", "ticket"),
    [(b"ticket=abc", "abc"), (b"a=1&ticket=x&ticket=y", "x"), (b"", ""), (b"ticket=", "")],
)
def test_the_ticket_stands_in_the_address(query: bytes, ticket: str):
    assert ticket_of({"query_string": query}) == ticket
