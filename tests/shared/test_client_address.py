from __future__ import annotations

from types import SimpleNamespace

import pytest

from shared.client_address import client_address, counted_address
from tests.architecture import tree


def _from(address: str | None) -> SimpleNamespace:
    return SimpleNamespace(META={} if address is None else {"REMOTE_ADDR": address})


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::1"),
        (None, ""),
        ("", ""),
        ("unknown", ""),
        ("192.0.2.7, 10.0.0.1", ""),
        ("<script>", ""),
        ("192.0.2.7\n", ""),
    ],
)
def test_an_address_is_read_in_one_form_and_nothing_else_is_one(given, read):
    assert client_address(_from(given)) == read


def test_callers_of_one_ipv6_network_count_as_one():
    counted = [counted_address(_from(one)) for one in ("2001:db8::1", "2001:db8::ffff:2")]

    assert counted == ["2001:db8::/64", "2001:db8::/64"]
    assert counted_address(_from("2001:db8:0:1::1")) == "2001:db8:0:1::/64"
    assert counted_address(_from("192.0.2.7")) == "192.0.2.7"
    assert counted_address(_from("unknown")) == ""


def test_nothing_else_reads_where_a_request_comes_from():
    names = ("REMOTE_ADDR", "X_FORWARDED", "HTTP_FORWARDED", "REMOTE_HOST", '"client"')

    readers = {
        module.path for module in tree.production() if any(name in module.source for name in names)
    }

    assert readers == {"shared/client_address.py"}
