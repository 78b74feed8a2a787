from __future__ import annotations

import base64
from typing import Any

import pytest

from delivery.routes import Route, read_route
from shared.addresses import AllowList, UrlError

ALLOW = AllowList(["127.0.0.1"])


def route(tenant: str = "t1", **parts: Any) -> Route:
    found = read_route(parts, tenant, ALLOW, ())
    assert found is not None
    return found


def test_a_target_without_settings_goes_the_default_way():
    assert read_route({"tls": None, "proxy": None}, "t1", ALLOW, ()) is None
    assert read_route({}, "t1", ALLOW, ()) is None
    assert read_route({"tls": {"verify": True}}, "t1", ALLOW, ()) is None


def test_only_equal_settings_of_one_tenant_share_an_identity():
    proxy = {"url": "http://p.example:3128", "username": "u", "password": "p"}
    certificate = {"verify": True, "client_certificate": "A", "client_key": "K"}

    identities = [
        found.identity
        for found in (
            route(tls=certificate),
            route("t2", tls=certificate),
            route(tls={**certificate, "client_key": "L"}),
            route(tls={"verify": False}),
            route(tls={"ca_certificates": "A"}),
            route(proxy=proxy),
            route(proxy={**proxy, "password": "q"}),
            route(proxy={**proxy, "url": "http://p.example:3129"}),
            route(tls=certificate, proxy=proxy),
        )
    ]

    assert len(set(identities)) == len(identities)
    assert route(tls=certificate).identity == route(tls=dict(certificate)).identity


def test_elsewhere_the_authorities_and_the_proxy_stay_and_the_certificate_does_not():
    found = route(
        tls={"verify": False, "ca_certificates": "C", "client_certificate": "A", "client_key": "K"},
        proxy={"url": "http://p.example:3128"},
    ).elsewhere()

    assert found is not None
    assert (found.tls.verify, found.tls.ca_certificates) == (True, "C")
    assert (found.tls.client_certificate, found.tls.client_key) == (None, None)
    assert found.proxy is not None
    assert route(tls={"verify": False}).elsewhere() is None


def test_a_proxy_is_told_who_asks():
    found = route(proxy={"url": "http://p.example:3128", "username": "ü", "password": "p:w"}).proxy

    assert found is not None
    assert found.authorization == "Basic " + base64.b64encode("ü:p:w".encode()).decode()
    assert "p:w" not in repr(found)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://p.example:3128", "url_invalid"),
        ("http://u:p@p.example:3128", "url_invalid"),
        ("http://10.0.0.1:3128", "address_forbidden"),
        ("http://p.example:25", "port_forbidden"),
    ],
)
def test_a_proxy_that_may_not_be_called_is_refused(url: str, code: str):
    with pytest.raises(UrlError) as refused:
        route(proxy={"url": url})

    assert refused.value.code == code
