from __future__ import annotations

from typing import Any

import pytest

from delivery.errors import DeliveryError
from delivery.http_client import Request, Response
from delivery.redirects import redirected
from delivery.routes import read_route
from shared.addresses import AllowList, parse_target_url

HEADERS = [
    ("webhook-id", "1"),
    ("webhook-signature", "v1,x"),
    ("Idempotency-Key", "1"),
    ("X-Scheduler-Fencing-Token", "7"),
    ("X-Execution-Token", "7.x"),
    ("traceparent", "00-1-2-01"),
    ("Content-Type", "application/json"),
    ("X-Team", "billing"),
    ("X-Auth-Token", "s"),
    ("Cookie", "s"),
    ("Authorization", "s"),
    ("X-Odd", "s"),
]
OWN = {name for name, _ in HEADERS}


def follow(
    location: str | None, status: int = 307, *, method: str = "POST", url: str = "", **parts: Any
) -> Request | None:
    request = Request(
        method=method,
        url=parse_target_url(url or "https://a.example/x/y?z=1", AllowList()),
        headers=HEADERS,
        body=b"{}",
        connect_timeout=1,
        timeout=1,
        **parts,
    )
    headers = [] if location is None else [("LOCATION", location)]
    return redirected(
        request,
        Response(status, headers, b"", False, {}, "1.1.1.1"),
        private_headers=frozenset({"x-odd"}),
        allow=AllowList(),
        allowed_ports=(),
    )


def following(*args: Any, **options: Any) -> Request:
    found = follow(*args, **options)
    assert found is not None
    return found


def names(request: Request) -> set[str]:
    return {name for name, _ in request.headers}


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://a.example/b"),
        ("b?c=1#d", "https://a.example/x/b?c=1"),
        ("?q", "https://a.example/x/y?q"),
        ("//b.example/", "https://b.example/"),
        ("https://b.example:8443/p", "https://b.example:8443/p"),
        ("../../../e", "https://a.example/e"),
        *(("/ä", "https://a.example/%C3%A4"), (" /b\t", "https://a.example/b")),
        *(("/ok here", "https://a.example/ok%20here"), ("?a b", "https://a.example/x/y?a%20b")),
        *(("/a\tb", "https://a.example/ab"), ("\\b\\c", "https://a.example/b/c")),
        *(("\\\\b.example\\c", "https://b.example/c"), ("///b.example/", "https://b.example/")),
        *(("https:b", "https://a.example/x/b"), ("https:///b.example", "https://b.example/")),
        *(
            ("https://b.example/x/../y", "https://b.example/y"),
            ("#part", "https://a.example/x/y?z=1"),
        ),
        *(("https://b.example\\@c/", "https://b.example/@c/"),),
        *(("/%2e%2e/b", "https://a.example/b"), ("/a%20b%2Fc", "https://a.example/a%20b%2Fc")),
        *(
            ("?q=\\", "https://a.example/x/y?q=%5C"),
            ("HTTPS://B.example:443/", "https://b.example/"),
        ),
        ("/\U0001f469\u200d\U0001f680", "https://a.example/%F0%9F%91%A9%E2%80%8D%F0%9F%9A%80"),
    ],
)
def test_a_place_is_read_against_the_one_it_was_said_at(location: str, url: str):
    found = following(location).url

    assert f"{found.scheme}://{found.authority}{found.path_and_query}" == url


@pytest.mark.parametrize(
    ("status", "method", "becomes"),
    [
        *((301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET")),
        *((307, "POST", "POST"), (308, "POST", "POST"), (301, "PUT", "PUT"), (302, "GET", "GET")),
        *((302, "HEAD", "HEAD"), (303, "HEAD", "HEAD"), (301, "DELETE", "DELETE")),
    ],
)
def test_the_method_stays_or_becomes_get_as_the_status_says(status: int, method: str, becomes: str):
    found = following("/b", status, method=method)

    assert found.method == becomes
    if (method, status) == ("HEAD", 303) or method != becomes:
        assert found.body == b""
        assert names(found) == OWN - {"Content-Type", "webhook-signature"}
    else:
        assert found.body == b"{}"
        assert names(found) == OWN


@pytest.mark.parametrize(
    "location", ["https://b.example/", "https://a.example:8443/", "https://sub.a.example/"]
)
def test_what_proves_who_sends_never_leaves_the_origin(location: str):
    found = following(location)

    assert names(found) == {
        *("webhook-id", "Idempotency-Key", "X-Scheduler-Fencing-Token", "traceparent"),
        *("Content-Type", "X-Team"),
    }


def test_to_tls_on_the_same_host_is_another_origin():
    assert "Authorization" not in names(following("https://a.example/", url="http://a.example/"))


def test_the_client_certificate_stays_and_the_proxy_goes_along():
    target = {
        "proxy": {"url": "http://p.example:3128"},
        "tls": {"verify": True, "client_certificate": "A", "client_key": "K"},
    }
    route = read_route(target, "t1", AllowList(), ())

    here, there = following("/b", route=route), following("https://b.example/", route=route)

    assert here.route is route
    assert there.route is not None
    assert there.route.tls.client_certificate is None
    assert there.route.proxy is not None


def test_an_answer_that_names_no_place_is_no_redirect():
    assert follow(None) is None
    assert follow("") is None


@pytest.mark.parametrize(
    ("location", "code"),
    [
        *(("http://a.example/", "redirect_forbidden"), ("ftp://a.example/", "redirect_forbidden")),
        *(("https://u:p@b.example/", "redirect_forbidden"), ("file:///etc", "redirect_forbidden")),
        *(("https://[::1", "redirect_forbidden"), ("https://b example/a", "redirect_forbidden")),
        *(("https://b@c/", "redirect_forbidden"), ("javascript:1", "redirect_forbidden")),
        *(("https://10.0.0.1/", "address_forbidden"), ("//127.1/", "address_forbidden")),
        *(
            ("https://0x7f000001/", "address_forbidden"),
            ("//[::ffff:1.1.1.1]/", "address_forbidden"),
        ),
        *(("//169.254.169.254/latest", "address_forbidden"), ("//2130706433", "address_forbidden")),
        *(("//0177.0.0.1/", "address_forbidden"), ("//b.example:25/", "address_forbidden")),
    ],
)
def test_a_place_that_may_not_be_called_ends_it(location: str, code: str):
    with pytest.raises(DeliveryError) as refused:
        follow(location)

    assert refused.value.code == code
