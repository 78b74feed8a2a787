from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from shared.networks import MOST_NETWORKS, holds, is_within, read_networks


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("203.0.113.7", "203.0.113.7/32"),
        ("203.0.113.0/24", "203.0.113.0/24"),
        ("2001:DB8::1", "2001:db8::1/128"),
        ("2001:db8:0:0::/32", "2001:db8::/32"),
        ("::ffff:203.0.113.0/120", "203.0.113.0/24"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        (" 10.0.0.0/8 ", "10.0.0.0/8"),
    ],
)
def test_a_network_is_read_in_its_one_spelling(given, read):
    assert read_networks([given]) == [read]


@pytest.mark.parametrize(
    "given",
    [
        "",
        "example.com",
        "203.0.113.7/24",
        "203.0.113.0/33",
        "203.0.113.0/255.255.255.0",
        "010.0.0.1",
        "fe80::1%eth0",
        "2001:db8::1/32",
        "10.0.0.0/8 x",
        "1" * 60,
    ],
)
def test_what_is_no_network_is_refused_by_its_place(given):
    with pytest.raises(InvalidInput) as raised:
        read_networks(["10.0.0.0/8", given])

    assert [error.pointer for error in raised.value.errors] == ["#/addresses/1"]


def test_bits_beyond_the_prefix_are_named_with_the_network_that_is_meant():
    with pytest.raises(InvalidInput) as raised:
        read_networks(["203.0.113.7/24"])

    assert "Write 203.0.113.0/24." in raised.value.errors[0].message


def test_a_list_names_each_network_once_and_has_an_end():
    assert read_networks(["10.0.0.1", "10.0.0.1/32"]) == ["10.0.0.1/32"]
    with pytest.raises(InvalidInput):
        read_networks(["10.0.0.1"] * (MOST_NETWORKS + 1))


@pytest.mark.parametrize(
    ("networks", "address", "held"),
    [
        ([], "198.51.100.1", True),
        ([], "", True),
        (["203.0.113.0/24"], "203.0.113.255", True),
        (["203.0.113.0/24"], "203.0.114.0", False),
        (["203.0.113.0/24", "2001:db8::/32"], "2001:db8::7", True),
        (["::/0"], "203.0.113.1", False),
        (["0.0.0.0/0"], "", False),
        (["0.0.0.0/0", "::/0"], "unknown", False),
    ],
)
def test_an_address_is_held_by_its_network_and_an_unknown_one_by_none(networks, address, held):
    assert holds(networks, address) is held


@pytest.mark.parametrize(
    ("inner", "outer", "within"),
    [
        ([], [], True),
        (["10.0.0.0/8"], [], True),
        ([], ["10.0.0.0/8"], False),
        ([], ["0.0.0.0/0", "::/0"], False),
        (["10.1.0.0/16"], ["10.0.0.0/8"], True),
        (["10.0.0.0/7"], ["10.0.0.0/8"], False),
        (["10.0.0.0/8"], ["10.0.0.0/9", "10.128.0.0/9"], True),
        (["10.1.0.0/16", "2001:db8::/48"], ["10.0.0.0/8"], False),
        (["2001:db8::/48"], ["10.0.0.0/8", "2001:db8::/32"], True),
    ],
)
def test_a_list_is_within_another_where_each_of_its_addresses_is(inner, outer, within):
    assert is_within(inner, outer) is within
