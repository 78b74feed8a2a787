from __future__ import annotations

import dataclasses
from ipaddress import ip_address

import pytest

from shared.conf import conf
from tasks.calendars import limits_of
from tasks.limits import commands_of, current_limits
from tasks.validation.bodies import parse_create, parse_patch, parse_replace
from tenants.models import ApiKey, Tenant
from tests.factories import make_key
from tests.tasks.bodies import MINIMAL, NOW, problems

URL = "https://api.example.com/"
LONG = {"schedule": {"every": "PT1H"}, "target": {"url": URL}}
SHORT = {"every": "PT1H", "payload": {"webhook_url": URL}}


@pytest.fixture
def loopback_allowed(settings):
    settings.PUNCTUAL = dataclasses.replace(
        conf(),
        webhook_allowed_networks=("127.0.0.1/32:8009",),
        webhook_allowed_ports=(81,),
        webhook_allow_unverified_tls=True,
        allowed_commands={"backup": "/usr/bin/true"},
        payload_bytes=100,
    )


def test_the_deployments_limits_are_in_force(loopback_allowed):
    limits = current_limits()

    assert limits.payload_bytes == 100
    assert limits.allow_list.allows(ip_address("127.0.0.1"), 8009)
    assert limits.allowed_low_ports == (81,)
    assert (limits.commands, limits.allow_unverified_tls) == (frozenset({"backup"}), True)


def test_an_allowed_address_may_be_a_target_on_its_port_only(loopback_allowed):
    def call(url):
        body = MINIMAL | {"target": {"url": url}}
        return parse_create(body, now=NOW, limits=current_limits())

    assert call("http://127.0.0.1:8009/hook").target["url"] == "http://127.0.0.1:8009/hook"
    assert call("http://api.example.com:81/").name == "api.example.com:81"
    assert problems(call, "http://127.0.0.1:8010/") == {("#/target/url", "address_forbidden")}


@pytest.fixture
def limits(alpha):
    Tenant.objects.update(default_jitter_seconds=30)
    return limits_of(alpha.id)


def jitter_of(body, limits):
    return parse_create(body, now=NOW, limits=limits).schedule["jitter_seconds"]


@pytest.mark.parametrize("body", [LONG, SHORT])
def test_a_new_recurring_task_that_says_no_jitter_gets_its_tenants(limits, body):
    assert jitter_of(body, limits) == 30


@pytest.mark.parametrize("said", [0, 5])
def test_a_jitter_that_is_said_stays(limits, said):
    assert jitter_of({**SHORT, "jitter_seconds": said}, limits) == said
    assert (
        jitter_of({**LONG, "schedule": {"every": "PT1H", "jitter_seconds": said}}, limits) == said
    )


def test_a_one_time_task_has_no_default_jitter(limits):
    assert jitter_of({**LONG, "schedule": {"delay_seconds": 5}}, limits) == 0


def test_an_edit_or_a_replacement_takes_no_default(limits, alpha):
    made = parse_create({**SHORT, "jitter_seconds": 0}, now=NOW, limits=limits)

    edited, _ = parse_patch(made, {"every": "PT2H"}, now=NOW, limits=limits)
    replaced = parse_replace(SHORT, now=NOW, limits=limits)

    assert edited.schedule["jitter_seconds"] == replaced.schedule["jitter_seconds"] == 0


def test_the_default_is_read_once_for_many_bodies(limits, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert {jitter_of(LONG, limits) for _ in range(5)} == {30}


def test_another_tenants_default_is_not_taken(limits, beta):
    Tenant.objects.filter(pk=beta.pk).update(default_jitter_seconds=7)

    assert jitter_of(LONG, limits_of(beta.id)) == 7
    assert jitter_of(LONG, limits) == 30


def test_a_command_is_of_every_tenant_unless_its_tenants_are_named(settings, alpha, beta):
    settings.PUNCTUAL = dataclasses.replace(
        conf(),
        allowed_commands={"backup": "/usr/bin/true", "report": "/usr/bin/true"},
        command_variables={"backup": ("REGION",)},
        command_tenants={"report": (str(beta.id),)},
    )

    assert limits_of(alpha.id).commands == commands_of(alpha.id) == {"backup"}
    assert limits_of(beta.id).commands == {"backup", "report"}
    assert limits_of(alpha.id).variables == {"backup": ("REGION",)}


def test_a_command_of_another_tenant_is_unknown(settings, alpha, beta):
    settings.PUNCTUAL = dataclasses.replace(
        conf(),
        allowed_commands={"backup": "/usr/bin/true", "report": "/usr/bin/true"},
        command_tenants={"report": (str(beta.id),)},
    )
    body = {**LONG, "target": {"kind": "command", "command": "report"}}

    def call(tenant):
        return parse_create(body, now=NOW, limits=limits_of(tenant.id))

    assert problems(call, alpha) == {("#/target/command", "command_unknown")}
    assert call(beta).target["command"] == "report"


def test_an_owner_may_be_a_key_of_the_tenant_that_is_in_force(alpha, beta):
    make_key(alpha)
    key, _ = make_key(beta)
    ApiKey.objects.filter(pk=key.pk).update(name="theirs")
    body = {**LONG, "owner": "theirs"}

    def call(tenant):
        return parse_create(body, now=NOW, limits=limits_of(tenant.id))

    assert call(beta).owner == "theirs"
    assert problems(call, alpha) == {("#/owner", "owner_unknown")}
    ApiKey.objects.update(revoked_at=NOW)
    assert problems(call, beta) == {("#/owner", "owner_unknown")}
