from __future__ import annotations

import json
from typing import Any

import pytest

from api.tenants.issuer_keys import FetchFailed, IssuerUnavailable
from dashboard.oidc.providers import PublishedProvider, published, read_published
from tests.support.oidc_issuer import Issuer, oidc_issuer


def document(**parts: Any) -> tuple[bytes, Any]:
    issuer = Issuer(port=9009)
    issuer.published = parts
    return json.dumps(issuer.document()).encode(), issuer.provider()


def test_endpoints_and_keys_are_fetched_together_and_kept():
    with oidc_issuer() as issuer:
        found = PublishedProvider(issuer.provider())

        assert found.endpoints().token == f"{issuer.url}/token"
        assert [one.key_id for one in found.keys.current("one").keys] == ["one"]
        issuer.published = {"token_endpoint": "https://elsewhere.test"}
        assert found.endpoints().token == f"{issuer.url}/token"


def test_without_a_document_there_are_no_endpoints():
    with oidc_issuer() as issuer:
        issuer.published = {"issuer": "https://elsewhere.test"}
        with pytest.raises(IssuerUnavailable):
            PublishedProvider(issuer.provider()).endpoints()


def test_a_changed_setting_forgets_what_was_published():
    provider = Issuer(port=9009).provider()

    assert published(provider) is published(provider)
    assert published(Issuer(port=9010).provider()) is not published(provider)


def test_the_proofs_of_clients_are_read():
    body, provider = document(token_endpoint_auth_methods_supported=["client_secret_post", 1])

    assert read_published(body, provider)[0].client_proofs == ("client_secret_post",)
    body, provider = document(token_endpoint_auth_methods_supported="x")
    assert read_published(body, provider)[0].client_proofs == ()


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"issuer": 1}', b"\xff"])
def test_what_is_no_document_is_refused(body: bytes):
    with pytest.raises(FetchFailed):
        read_published(body, Issuer(port=9009).provider())
