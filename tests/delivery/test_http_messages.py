from __future__ import annotations

import pytest

from delivery.http_messages import encode_request
from tests.delivery.calls import request_to


def test_request_is_framed_by_the_client():
    data = encode_request(request_to(8001, path="/a?b=c"))

    assert data == (
        b"POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:8001\r\nAccept-Encoding: identity\r\n"
        b'Content-Length: 8\r\nX-Team: billing\r\n\r\n{"n": 1}'
    )


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        *(("GET", b"", None), ("HEAD", b"", None), ("GET", b"x", b"1"), ("POST", b"", b"0")),
        *(("DELETE", b"", b"0"), ("PUT", b"xy", b"2")),
    ],
)
def test_length_is_sent_where_a_body_may_be_expected(method, body, length):
    data = encode_request(request_to(8001, method=method, body=body))

    lengths = [line for line in data.split(b"\r\n") if line.startswith(b"Content-Length")]
    assert lengths == ([] if length is None else [b"Content-Length: " + length])


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "a\r\nHost: evil", "a\0b", "\r\n", "\n"])
def test_value_that_breaks_the_framing_is_refused(value):
    with pytest.raises(ValueError, match="CR, LF or NUL"):
        encode_request(request_to(8001, headers=[("X-A", value), ("X-B", "fine")]))


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "content-length", "Transfer-Encoding", "CONNECTION", "TE", "Upgrade", "Expect"),
        *("", "a b", "a:b", "a\r\nb", "a\n", "ä", "Accept-Encoding"),
    ],
)
def test_name_that_frames_or_breaks_the_message_is_refused(name):
    with pytest.raises(ValueError, match="may not be set"):
        encode_request(request_to(8001, headers=[(name, "x")]))


@pytest.mark.parametrize("method", ["", "GET /", "G\r\nT", "CONNECT", "gét"])
def test_bad_method_is_refused(method):
    with pytest.raises(ValueError, match="no HTTP method"):
        encode_request(request_to(8001, method=method))


def test_text_beyond_ascii_is_sent_as_utf_8():
    data = encode_request(request_to(8001, headers=[("X-Name", "日本")]))

    assert "X-Name: 日本\r\n".encode() in data
