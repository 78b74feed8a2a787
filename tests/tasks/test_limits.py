from __future__ import annotations

import dataclasses
from ipaddress import ip_address

import pytest

from shared.conf import conf
from tasks.limits import current_limits
from tasks.validation import parse_create
from tests.tasks.bodies import MINIMAL, NOW, problems


@pytest.fixture
def loopback_allowed(settings):
    settings.PUNCTUAL = dataclasses.replace(
        conf(),
        webhook_allowed_networks=("127.0.0.1/32:8009",),
        webhook_allowed_ports=(81,),
        payload_bytes=100,
    )


def test_the_deployments_limits_are_in_force(loopback_allowed):
    limits = current_limits()

    assert limits.payload_bytes == 100
    assert limits.allow_list.allows(ip_address("127.0.0.1"), 8009)
    assert limits.allowed_low_ports == (81,)


def test_an_allowed_address_may_be_a_target_on_its_port_only(loopback_allowed):
    def call(url):
        body = MINIMAL | {"target": {"url": url}}
        return parse_create(body, now=NOW, limits=current_limits())

    assert call("http://127.0.0.1:8009/hook").target["url"] == "http://127.0.0.1:8009/hook"
    assert call("http://api.example.com:81/").name == "api.example.com:81"
    assert problems(call, "http://127.0.0.1:8010/") == {("#/target/url", "address_forbidden")}
