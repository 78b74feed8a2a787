from __future__ import annotations

from uuid import UUID

import pytest

from wire.destination_key import key_of, limits_text, tenant_and_host

TENANT = UUID(int=7)


def test_a_key_tells_tenants_and_ports_apart():
    keys = {key_of(tenant, host) for tenant in (TENANT, UUID(int=8)) for host in ("a", "a:8443")}

    assert len(keys) == 4
    assert tenant_and_host(key_of(TENANT, "[::1]:8443")) == (TENANT, "[::1]:8443")


def test_work_that_calls_no_host_has_no_key():
    assert key_of(TENANT, "") == ""
    assert key_of("t", "a") == "t:a"


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ((None, None, None), ""),
        ((None, None, True), ""),
        ((5, None, True), "1,5,"),
        ((None, 2, True), "1,,2.0"),
        ((None, None, False), "0,,"),
        ((5, 0.001, False), "0,5,0.001"),
    ],
)
def test_limits_are_written_as_the_guard_reads_them(limits, text):
    assert limits_text(*limits) == text
