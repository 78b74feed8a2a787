"""Which destinations and commands a secret may go to."""

from __future__ import annotations

import pytest

from shared.named_secrets.bindings import Binding, allows_url, read_host, refusals


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("api.example.com", "api.example.com"),
        (" API.Example.com ", "api.example.com"),
        ("https://api.example.com:443", "api.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("http://10.0.0.7:8080", "http://10.0.0.7:8080"),
        ("http://localhost:80", "http://localhost"),
        ("*.example.com", "*.example.com"),
        ("[::1]:8443", "[::1]:8443"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*", "*"),
    ],
)
def test_a_host_has_one_spelling(written, normal):
    assert read_host(written) == normal


@pytest.mark.parametrize(
    "written",
    [
        *("", "ftp://a.example", "a.example/path", "a.example?x", "u@a.example", "a b", "*.com"),
        *("a.*.example", "*.10.0.0.7", "a.example:0", "https://", "**", "a.example\\b", "#"),
    ],
)
def test_anything_else_is_no_host(written):
    with pytest.raises(ValueError, match=r"."):
        read_host(written)


@pytest.mark.parametrize(
    ("host", "url", "allowed"),
    [
        ("api.example.com", "https://api.example.com/x", True),
        ("api.example.com", "https://API.example.com:443/x", True),
        ("api.example.com", "https://api.example.com/{{ labels.a }}", True),
        ("api.example.com", "http://api.example.com/x", False),
        ("api.example.com", "https://api.example.com:8443/x", False),
        ("api.example.com", "https://api.example.com.evil.example/x", False),
        ("api.example.com", "https://evil.example/api.example.com", False),
        ("api.example.com", "https://sub.api.example.com/x", False),
        ("*.example.com", "https://a.b.example.com/x", True),
        ("*.example.com", "https://example.com/x", False),
        ("*.example.com", "https://evilexample.com/x", False),
        ("http://10.0.0.7:8080", "http://10.0.0.7:8080/x", True),
        ("http://10.0.0.7:8080", "https://10.0.0.7:8080/x", False),
        ("*", "http://anything.example", True),
        ("api.example.com", "no url", False),
    ],
)
def test_a_url_is_allowed_by_its_whole_origin(host, url, allowed):
    assert allows_url(Binding(hosts=[read_host(host)]), url) is allowed


def webhook(**parts):
    return {"kind": "webhook", "url": "https://api.example.com/x", "auth": None, **parts}


BOUND = Binding(hosts=["api.example.com"])


def test_a_webhook_to_its_host_is_not_refused():
    assert not list(refusals(BOUND, webhook()))


def test_the_token_endpoint_counts_as_a_destination():
    auth = {"type": "oauth2", "token_url": "https://evil.example/token"}

    assert [field for field, _ in refusals(BOUND, webhook(auth=auth))] == ["auth"]


@pytest.mark.parametrize(
    "parts",
    [
        {"tls": {"verify": False}},
        {"tls": {"ca_certificates": "PEM"}},
        {"url": "http://api.example.com/x"},
    ],
)
def test_no_proxy_gets_to_read_a_bound_secret(parts):
    target = webhook(proxy={"url": "http://proxy.example:3128"}, **parts)
    bound = Binding(hosts=["api.example.com", "http://api.example.com"])

    assert [field for field, _ in refusals(bound, target)] == ["proxy"]
    assert not list(refusals(Binding(hosts=["*"]), target))


def test_a_proxy_that_only_tunnels_is_no_reader():
    assert not list(refusals(BOUND, webhook(proxy={"url": "http://proxy.example:3128"})))


def test_a_command_needs_its_name_in_the_binding():
    command = {"kind": "command", "command": "deploy"}

    assert list(refusals(Binding(hosts=["*"], commands=["other"]), command))
    assert not list(refusals(Binding(commands=["deploy"]), command))
    assert not list(refusals(Binding(commands=["*"]), command))
