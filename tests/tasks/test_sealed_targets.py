from __future__ import annotations

import pytest

from tasks import sealed_targets

WEBHOOK = {
    "kind": "webhook",
    "url": "https://API.example.com:8443/hooks/s3cret?sig=s3cret#s3cret",
    "method": "POST",
    "headers": {"X-Key": "{{ secrets.key }}"},
    "auth": None,
}
COMMAND = {
    "kind": "command",
    "command": "load",
    "arguments": ["--key", "s3cret"],
    "environment": {},
}


@pytest.mark.parametrize("target", [WEBHOOK, COMMAND])
def test_a_target_comes_back_from_its_parts_and_nothing_secret_is_in_clear(target):
    plain, secret = sealed_targets.split(target, whole=True)

    assert "s3cret" not in str(plain)
    assert not sealed_targets.is_open(plain)
    assert sealed_targets.joined(plain, secret) == target


def test_of_a_url_the_origin_is_in_clear():
    plain, _ = sealed_targets.split(WEBHOOK, whole=True)

    assert plain["origin"] == "https://api.example.com:8443"


@pytest.mark.parametrize("url", ["https://u:s3cret@a.example/", "no url s3cret", "https:///s3cret"])
def test_what_is_no_url_or_has_a_password_shows_none_of_it(url):
    plain, _ = sealed_targets.split({**WEBHOOK, "url": url}, whole=True)

    assert "s3cret" not in plain["origin"]


def test_without_the_sealed_part_the_url_is_the_origin():
    plain, _ = sealed_targets.split(WEBHOOK, whole=True)

    assert sealed_targets.joined(plain, {})["url"] == "https://api.example.com:8443"


@pytest.mark.parametrize("target", [WEBHOOK, COMMAND])
def test_the_form_of_older_versions_is_read_and_closed(target):
    plain, secret = sealed_targets.split(target, whole=False)

    assert sealed_targets.is_open(plain)
    assert sealed_targets.joined(plain, secret) == target
    assert sealed_targets.closed(plain, secret) == sealed_targets.split(target, whole=True)


def test_a_program_of_an_older_version_finds_no_url_that_it_could_call():
    plain, _ = sealed_targets.split(WEBHOOK, whole=True)

    assert "url" not in plain
