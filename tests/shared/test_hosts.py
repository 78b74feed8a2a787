from __future__ import annotations

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.hosts import HostError, bracketed, read_host_port

LONG = "a" * 63


@pytest.mark.parametrize(
    ("written", "host"),
    [
        *(
            ("EXAMPLE.com", "example.com"),
            ("example.com.", "example.com"),
            ("localhost", "localhost"),
        ),
        *(("a_b.internal", "a_b.internal"), ("_dmarc.example.com", "_dmarc.example.com")),
        *(("r3---sn-x.example", "r3---sn-x.example"), (f"{LONG}.com", f"{LONG}.com")),
        *(("faß.de", "xn--fa-hia.de"), ("FAẞ.de", "xn--fa-hia.de"), ("fass.de", "fass.de")),
        *(("βόλος.com", "xn--nxasmm1c.com"), ("βόλοσ.com", "xn--nxasmq6b.com")),
        *(
            ("bücher.example", "xn--bcher-kva.example"),
            ("bu\u0308cher.example", "xn--bcher-kva.example"),
        ),
        *(("XN--BCHER-KVA.example", "xn--bcher-kva.example"), ("例え。jp", "xn--r8jz45g.jp")),
        *(("ｅｘａｍｐｌｅ．com", "example.com"), ("example\uff61com", "example.com")),
        *(
            ("نامه\u200cای.com", "xn--mgba3gch31f060k.com"),
            ("K.com", "k.com"),
            ("ﬃ.com", "ffi.com"),
        ),
        *(("xn--i-7iq.ws", "xn--i-7iq.ws"), ("xn--fa-hia.de", "xn--fa-hia.de")),
    ],
)
def test_a_name_has_one_spelling(written: str, host: str):
    assert read_host_port(written) == (None, host, None)


@pytest.mark.parametrize(
    ("written", "host"),
    [
        *(("127.0.0.1", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("0x7f.1", "127.0.0.1")),
        *(("2130706433", "127.0.0.1"), ("0177.0.0.01", "127.0.0.1"), ("127.1", "127.0.0.1")),
        *(
            ("0X7F000001", "127.0.0.1"),
            ("１２７.０.０.１", "127.0.0.1"),
            ("127。0。0。1", "127.0.0.1"),
        ),
        *(("①②⑦.⓪.⓪.①", "127.0.0.1"), ("[::1]", "::1"), ("[0:0:0:0:0:0:0:1]", "::1")),
        *(("[2001:DB8:0:0::1]", "2001:db8::1"), ("[::ffff:7f00:1]", "::ffff:7f00:1")),
    ],
)
def test_an_address_has_one_spelling(written: str, host: str):
    literal, found, _ = read_host_port(written)

    # IPv4 within IPv6 is written in two ways by the versions of Python.
    assert str(literal) == found
    assert found.replace("::ffff:127.0.0.1", "::ffff:7f00:1") == host


@pytest.mark.parametrize(
    "written",
    [
        *("", ".", "a..b", ".a", "a..", "ü..com", ".ü", "-a.com", "a-.com", "-ü.com", "ü-.com"),
        *("a" * 64 + ".com", "ü" * 60 + ".com", "a." * 127 + "com", f"{LONG}." * 4 + "com"),
        *("a b", "a,b", "a!b", "a%2eb", "%31.0.0.1", "exam\u00adple%", "a/b", "a\\b", "a\0b"),
        *("℀.example", "a\u202eb.com", "a\u200db.com", "\u0301a.com", "ab--ü.com", "xn--ü.com"),
        *("i❤.ws", "☃.net", "👩\u200d🚀.com", "a\ud800b", "א1a.com", "a。。b"),
        *("xn--.com", "xn--a.com", "xn--0.com", "xn--99999999.com", "xn--zn7c.com", "xn--foo-.com"),
        *("xn--abc.com", "xn--a-ecp.ru", "xn--u-ccb.com", "a.xn--0", "xn--xn---epa.com"),
        *("1.2.3.4.5", "256.1.1.1", "1.2.3.256", "4294967296", "a.1", "1.2.3.08", "1..2"),
        *("[::1", "[g::]", "[1.2.3.4]", "[]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1].com"),
    ],
)
def test_what_names_no_host_is_refused(written: str):
    with pytest.raises(HostError) as caught:
        read_host_port(written)

    assert caught.value.message.endswith(".")


def test_a_character_that_idna_has_not_is_named_and_the_way_out_too():
    with pytest.raises(HostError, match=r"IDNA 2008 has no U\+2764; try its xn-- form"):
        read_host_port("i❤.ws")


@pytest.mark.parametrize(
    ("written", "host", "port"),
    [
        *(("example.com", "example.com", None), ("example.com:", "example.com", None)),
        *(("example.com:443", "example.com", 443), ("example.com:0443", "example.com", 443)),
        *(("example.com.:00080", "example.com", 80), ("[::1]:9000", "::1", 9000)),
        *(("0x7f.1:65535", "127.0.0.1", 65535), ("faß.de:1", "xn--fa-hia.de", 1)),
    ],
)
def test_a_port_is_a_number_however_it_is_written(written: str, host: str, port: int | None):
    assert read_host_port(written)[1:] == (host, port)


@pytest.mark.parametrize(
    "written",
    [
        *("example.com:0", "example.com:65536", "example.com:-1", "example.com:+1", ":80", ":"),
        *("example.com:８０", "example.com:8a", "example.com:1:2", "::1", "::1:80", "user@a", "@a"),
        *("user:pw@a", "example.com:" + "0" * 20 + "1", "[::1]x", "a[::1]", "example.com: 80"),
    ],
)
def test_what_names_no_port_is_refused(written: str):
    with pytest.raises(HostError):
        read_host_port(written)


@pytest.mark.parametrize(
    ("host", "shown"), [("::1", "[::1]"), ("a.b", "a.b"), ("1.1.1.1", "1.1.1.1")]
)
def test_an_address_with_colons_stands_in_brackets(host: str, shown: str):
    assert bracketed(host) == shown


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=3).map(".".join))
def test_every_name_that_idna_takes_is_spelled_as_idna_does_and_stays_so(written: str):
    try:
        expected = idna.encode(written, uts46=True, transitional=False).decode().removesuffix(".")
    except (idna.IDNAError, UnicodeError):
        return
    try:
        literal, found, port = read_host_port(written)
    except HostError:
        # Of what idna takes, only numbers that are no address.
        assert expected.rpartition(".")[2][:1].isdigit()
        return

    assert port is None
    assert literal is not None or (found == expected and read_host_port(found)[1] == found)
