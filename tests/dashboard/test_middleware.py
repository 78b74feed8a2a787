"""The policy stands on every page, and the API is not compressed."""

from __future__ import annotations

import pytest

from dashboard.middleware import POLICY


@pytest.mark.parametrize("path", ["/login", "/v1/docs/", "/admin/", "/no-such-page"])
def test_every_page_has_the_policy(client, db, path):
    assert client.get(path)["Content-Security-Policy"] == POLICY


def test_the_policy_allows_nothing_inline_and_no_other_host():
    assert "unsafe" not in POLICY
    assert not any(scheme in POLICY for scheme in ("http:", "https:", "*"))


def test_pages_are_compressed_and_the_api_is_not(client, db):
    headers = {"HTTP_ACCEPT_ENCODING": "gzip"}

    assert client.get("/login", **headers)["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/v1/me", **headers)


def test_a_file_that_is_the_same_for_all_is_as_long_each_time(client, db):
    lengths = {
        len(b"".join(client.get("/static/js/live.js", HTTP_ACCEPT_ENCODING="gzip")))
        for _ in range(20)
    }

    assert len(lengths) == 1
