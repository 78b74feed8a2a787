from __future__ import annotations

import re
from ipaddress import ip_address

import pytest

from shared.addresses import (
    AllowList,
    UrlError,
    as_sent,
    classify,
    host_of,
    origin_of,
    parse_target_url,
)

NOTHING = AllowList()

FORBIDDEN = [
    ("0.0.0.0", "reserved"),
    ("0.1.2.3", "reserved"),
    ("10.0.0.1", "private"),
    ("100.64.0.1", "cgnat"),
    ("100.100.100.200", "metadata"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.255", "loopback"),
    ("168.63.129.16", "metadata"),
    ("169.254.1.1", "link_local"),
    ("169.254.169.254", "metadata"),
    ("169.254.170.2", "metadata"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.8", "reserved"),
    ("192.0.0.192", "metadata"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "6to4"),
    ("192.168.1.1", "private"),
    ("198.18.0.1", "benchmarking"),
    ("198.51.100.1", "documentation"),
    ("203.0.113.1", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "reserved"),
    ("::1", "loopback"),
    ("::7f00:1", "ipv4_compatible"),
    ("::ffff:8.8.8.8", "ipv4_mapped"),
    ("::ffff:127.0.0.1", "ipv4_mapped"),
    ("::ffff:0:127.0.0.1", "ipv4_translated"),
    ("64:ff9b::7f00:1", "nat64"),
    ("64:ff9b::8.8.8.8", "nat64"),
    ("64:ff9b:1::1", "nat64"),
    ("100::1", "reserved"),
    ("2001::1", "teredo"),
    ("2001:20::1", "reserved"),
    ("2001:db8::1", "documentation"),
    ("2002:7f00:1::", "6to4"),
    ("2a00:1450::5efe:7f00:1", "isatap"),
    ("2620:4f:8000::1", "reserved"),
    ("3fff::1", "documentation"),
    ("4000::1", "reserved"),
    ("5f00::1", "reserved"),
    ("fc00::1", "private"),
    ("fd00:ec2::254", "metadata"),
    ("fd12::1", "private"),
    ("fe80::1", "link_local"),
    ("2a00:1450::1%eth0", "link_local"),
    ("fec0::1", "site_local"),
    ("ff02::1", "multicast"),
]


@pytest.mark.parametrize(("address", "reason"), FORBIDDEN)
def test_address_that_is_not_public_has_a_reason(address, reason):
    assert classify(ip_address(address)) == reason


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1"),
        *("192.0.1.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"),
        "3ffe::1",
    ],
)
def test_public_address_has_no_reason(address):
    assert classify(ip_address(address)) is None


def test_allow_list_without_port_allows_every_port():
    allow = AllowList(["10.0.0.0/8", "fd00::/8", "127.0.0.1"])

    assert allow.allows(ip_address("10.1.2.3"), 1)
    assert allow.allows(ip_address("fd00::1"), 65535)
    assert allow.allows(ip_address("127.0.0.1"), 80)
    assert not allow.allows(ip_address("127.0.0.2"), 80)
    assert not allow.allows(ip_address("11.0.0.1"), 80)
    assert not allow.names_port(ip_address("10.1.2.3"), 25)


@pytest.mark.parametrize(
    ("word", "address"), [("10.0.0.0/8:8080", "10.9.9.9"), ("[fd00::/8]:8080", "fd00::9")]
)
def test_allow_list_with_port_allows_only_that_port(word, address):
    allow = AllowList([word])

    assert allow.allows(ip_address(address), 8080)
    assert allow.names_port(ip_address(address), 8080)
    assert not allow.allows(ip_address(address), 8081)


@pytest.mark.parametrize(
    "word",
    [
        *("", "10.0.0.0/33", "10.0.0.1/8", "localhost", "10.0.0.0/8:0", "10.0.0.0/8:65536"),
        *("10.0.0.0/8:", "10.0.0.0/8:http", "[fd00::/8", "fd00::/8:8080", "[10.0.0.0/8]:x"),
        *("10.0.0.0/8 ", "10.0.0.0/8:123456"),
    ],
)
def test_bad_word_of_an_allow_list_is_named(word):
    with pytest.raises(ValueError, match=re.escape(repr(word))):
        AllowList(["127.0.0.0/8", word])


def test_url_is_split_into_the_parts_that_are_sent():
    target = parse_target_url("HTTPS://API.Example.com:8443/a/b?c=d#fragment", NOTHING)

    assert target.scheme == "https"
    assert target.host == "api.example.com"
    assert target.port == 8443
    assert target.authority == "api.example.com:8443"
    assert target.path_and_query == "/a/b?c=d"
    assert target.literal is None


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://example.com", "example.com", "/"),
        ("http://example.com:80/x", "example.com", "/x"),
        ("https://example.com:443?q=1", "example.com", "/?q=1"),
        ("https://example.com:80", "example.com:80", "/"),
        ("http://example.com.", "example.com", "/"),
        ("http://a_b.example.com/%41?x=%20", "a_b.example.com", "/%41?x=%20"),
        ("http://example.com/ü?ö=ä", "example.com", "/%C3%BC?%C3%B6=%C3%A4"),
        ("http://example.com/<a>{b}", "example.com", "/%3Ca%3E%7Bb%7D"),
        ("http://bücher.example/", "xn--bcher-kva.example", "/"),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example", "/"),
        ("http://localhost:8001/x", "localhost:8001", "/x"),
        ("http://8.8.8.8/", "8.8.8.8", "/"),
        ("http://[2606:4700:0::1111]:8080/", "[2606:4700::1111]:8080", "/"),
        ("http://example.com//a/../b", "example.com", "//a/../b"),
        ("http://example.com:/x", "example.com", "/x"),
        ("https://EXAMPLE.com.:0443/x", "example.com", "/x"),
        ("https://faß.de/", "xn--fa-hia.de", "/"),
        ("https://ｅｘａｍｐｌｅ．com/", "example.com", "/"),
        ("https://a.b/\U0001f469\u200d\U0001f680", "a.b", "/%F0%9F%91%A9%E2%80%8D%F0%9F%9A%80"),
        (
            "https://a.b/\u06cc\u200c\u0647?q=\u2764\ufe0f",
            "a.b",
            "/%DB%8C%E2%80%8C%D9%87?q=%E2%9D%A4%EF%B8%8F",
        ),
        ("https://a.b/%F0%9F%9A%80/\U0001f680", "a.b", "/%F0%9F%9A%80/%F0%9F%9A%80"),
        ("https://a.b/#\U0001f680", "a.b", "/"),
    ],
)
def test_url_has_one_canonical_form(url, authority, path):
    target = parse_target_url(url, NOTHING)

    assert (target.authority, target.path_and_query) == (authority, path)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "//example.com", "ftp://example.com", "http:/example.com"),
        *("http://", "http:///x", "http://?x", "http://:80/", "file:///etc/passwd"),
        *("http://user@example.com", "http://user:pw@example.com", "http://@example.com"),
        *("http://example.com:0", "http://example.com:65536", "http://example.com:8a"),
        *("http://example.com:-1", "http://example.com:999999", "http://example.com:８０"),
        *(" http://example.com", "http://example.com ", "http://exa mple.com"),
        *("http://example.com/a b", "http://example.com/\t", "http://example.com/\n"),
        *("http://example.com/\r\nX: y", "http://example.com/\0", "http://example.com/\u2028"),
        *("http://example.com/\u200b", "http://example.com/\ud800", "http://example.com\\@a.b/"),
        *("http://127.1.1.1:80\\@127.2.2.2:80/", "http://%31%32%37.0.0.1/", "http://a%2eb/"),
        *("http://example.com/\u202e", "http://example.com/\ufeff", "http://example.com/\u00a0"),
        *("http://℀.example/", "http://i❤.ws/", "http://xn--0.com/", "http://a\u200db.com/"),
        *(
            "http://exam\u00adple.com/",
            "http://-a.com",
            "http://a-.com",
            "http://a..b",
            "http://.a",
        ),
        *("http://a..", "http://" + "a" * 64 + ".com", "http://" + "a." * 127 + "com"),
        *("http://[::1", "http://::1/", "http://[::1%25eth0]/", "http://[fe80::1%eth0]/"),
        *("http://[1.2.3.4]/", "http://[]/", "http://[::1]x/", "http://[g::]/"),
        *("http://1.2.3.4.5/", "http://256.1.1.1/", "http://1.2.3.256/", "http://4294967296/"),
        *("http://a.1/", "http://1.2.3.08/", "http://0x100000000/", "http://1..2/"),
        *("http://example.com/" + "a" * 2030, "http://a,b/", "http://a!b/", "http://a;b/"),
    ],
)
def test_url_that_could_be_read_in_two_ways_is_invalid(url):
    with pytest.raises(UrlError) as caught:
        parse_target_url(url, NOTHING)

    assert caught.value.code == "url_invalid"


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.0.0.01", "0177.0.0.1"),
        *("2130706433", "017700000001", "0x7f000001", "0x7f.1", "0X7F.0x0.0.1", "0", "0x"),
        *("00000000", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]"),
        *("[64:ff9b::7f00:1]", "169.254.169.254", "0xa9fea9fe", "10.1", "192.168.257"),
        *(
            "127。0。0。1",
            "127\uff0e0\uff0e0\uff0e1",
            "１２７.０.０.１",
            "①②⑦.⓪.⓪.①",
            "２１３０７０６４３３",
        ),
        *("127.0.0.1:", "127.0.0.1.:080", "[::1]:", "0x7f。1", "①⑥⑨.254.169.254"),
    ],
)
def test_every_spelling_of_a_forbidden_address_is_forbidden(host):
    with pytest.raises(UrlError) as caught:
        parse_target_url(f"http://{host}/", NOTHING)

    assert caught.value.code == "address_forbidden"


def test_odd_spelling_of_a_public_address_is_sent_in_its_canonical_form():
    target = parse_target_url("http://0x08080808:8080/", NOTHING)

    assert target.authority == "8.8.8.8:8080"
    assert target.literal == ip_address("8.8.8.8")


def test_allow_listed_address_may_be_called_on_its_port():
    allow = AllowList(["127.0.0.0/8:8001"])

    assert parse_target_url("http://127.1:8001/", allow).host == "127.0.0.1"
    with pytest.raises(UrlError, match="not public"):
        parse_target_url("http://127.0.0.1:8002/", allow)


@pytest.mark.parametrize("port", [1, 22, 25, 81, 444, 1023])
def test_low_port_is_forbidden_unless_the_deployment_allows_it(port):
    with pytest.raises(UrlError) as caught:
        parse_target_url(f"http://example.com:{port}/", NOTHING)

    assert caught.value.code == "port_forbidden"
    assert parse_target_url(f"http://example.com:{port}/", NOTHING, (port,)).port == port


def test_low_port_of_a_literal_is_allowed_only_by_a_rule_that_names_it():
    assert parse_target_url("http://10.0.0.1:81/", AllowList(["10.0.0.0/8:81"])).port == 81
    with pytest.raises(UrlError) as caught:
        parse_target_url("http://10.0.0.1:81/", AllowList(["10.0.0.0/8"]))
    assert caught.value.code == "port_forbidden"


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("HTTPS://EXAMPLE.com.:0443/a b/é#x", "https://example.com/a%20b/%C3%A9"),
        ("http://0x7f.1:08080?q=ü", "http://127.0.0.1:8080/?q=%C3%BC"),
        *(("ftp://example.com/", "ftp://example.com/"), ("http://a..b/", "http://a..b/")),
    ],
)
def test_a_url_is_shown_as_it_is_sent_and_as_it_is_where_it_cannot_be(url, sent):
    assert as_sent(url) == sent


def test_origins_are_compared_in_one_spelling():
    assert origin_of("HTTPS://Faß.de.:0443/x") == origin_of("https://xn--fa-hia.de/y")
    assert origin_of("http://[::1") is None
    assert (host_of("http://0x7f.1:9000/"), host_of("nothing")) == ("127.0.0.1", "")
