from __future__ import annotations

import pytest

from shared.hosts import HostError
from tasks.destination_names import (
    destination_name,
    name_of_url,
    read_host_and_port,
    read_name,
)

SPELLINGS = {
    "example.com": [
        *(
            "http://example.com/",
            "https://example.com/x?y#z",
            "HTTPS://EXAMPLE.COM",
            "http://example.com.",
        ),
        *("https://example.com:443/", "http://example.com:80", "https://example.com:0443/"),
        *("http://example.com:/x", "https://example.com.:00443/", "https://ｅxample。com/"),
        *("http://example.com:443/", "https://example.com:80/"),
    ],
    "example.com:8443": ["https://example.com:8443/", "http://EXAMPLE.com.:08443"],
    "127.0.0.1": [
        "http://0x7f.1/",
        "http://2130706433/",
        "http://127.0.0.1.:80/",
        "https://0177.1/",
    ],
    "127.0.0.1:9000": ["http://127.1:9000/", "http://[::ffff:127.0.0.1]:9000/"],
    "[::1]:9000": ["http://[0:0:0:0:0:0:0:1]:9000/", "http://[::1]:09000/"],
    "xn--fa-hia.de": ["https://faß.de/", "https://xn--FA-hia.de:443/"],
    "a_b.internal": ["http://A_b.internal/"],
}


@pytest.mark.parametrize(
    ("url", "name"), [(url, name) for name, urls in SPELLINGS.items() for url in urls]
)
def test_every_spelling_of_a_host_is_one_destination(url: str, name: str):
    assert name_of_url(url) == name


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_name_is_its_own_name(name: str):
    assert read_name(name) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(
            ("EXAMPLE.com.:0443", "example.com"),
            ("faß.de:80", "xn--fa-hia.de"),
            ("0x7f.1", "127.0.0.1"),
        ),
        *(("[::FFFF:127.0.0.1]", "127.0.0.1"), ("example.com:", "example.com")),
    ],
)
def test_a_text_without_scheme_names_the_same(text: str, name: str):
    assert read_name(text) == name


@pytest.mark.parametrize("url", ["", "example.com", "ftp://example.com/", "http://a b/", "http://"])
def test_what_has_no_host_has_no_destination(url: str):
    assert name_of_url(url) == ""


@pytest.mark.parametrize("text", ["", "a/b", "user@a", "https://a", "a..b", "a:0"])
def test_what_names_no_host_is_refused(text: str):
    with pytest.raises(HostError):
        read_name(text)


def test_a_port_is_kept_where_it_is_asked_for():
    assert read_host_and_port("Example.com:0443") == ("example.com", 443)
    assert destination_name("example.com", None) == destination_name("example.com", 443)


def test_the_longest_name_fits_its_column():
    labels = ".".join(["a" * 63] * 3 + ["a" * 61])

    assert len(read_name(f"{labels}:65535")) == 259
