from __future__ import annotations

import io

import pytest
from rest_framework.exceptions import UnsupportedMediaType

from api.protocol.parsers import MAX_BODY_BYTES, StrictJSONParser, refuse_media_type
from shared.exceptions import InvalidInput, TooLarge
from tests.support.hostile_json import HOSTILE


class FakeRequest:
    def __init__(self, **headers):
        self.META = headers


class FakeView:
    def __init__(self, **stated):
        self.__dict__.update(stated)


def _parse(body, media_type="application/json", view=None, **headers):
    context = {"request": FakeRequest(**headers), "view": view or FakeView()}
    return StrictJSONParser().parse(io.BytesIO(body), media_type, context)


@pytest.mark.parametrize(("body", "code"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_body_is_refused_with_its_code(body, code):
    with pytest.raises(InvalidInput) as raised:
        _parse(body)

    assert raised.value.errors[0].code == code


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"name": "T\xc3\xa4glich"}', {"name": "Täglich"}),
        (rb'{"name": "\ud83d\ude00"}', {"name": "😀"}),
        (rb'{"name": "\\u0000 is text"}', {"name": "\\u0000 is text"}),
        (b'{"n": [18446744073709551615, -9223372036854775808, 5e-324, 0.5]}',
         {"n": [2**64 - 1, -(2**63), 5e-324, 0.5]}),
        (b'{"brackets": "' + b"[{" * 500 + b'"}', {"brackets": "[{" * 500}),
        (b'{"a": ' + b"[[]," * 60 + b"[]" + b"]" * 60 + b"}", None),
        (b"", {}),
    ],
)  # fmt: skip
def test_an_honest_body_is_taken_as_it_is(body, value):
    parsed = _parse(body)

    assert value is None or parsed == value


def test_a_view_may_take_any_json():
    view = FakeView(any_json=True)

    assert _parse(b"[1]", view=view) == [1]


def test_a_body_over_the_limit_is_too_large_whatever_it_declares():
    with pytest.raises(TooLarge):
        _parse(b" " * (MAX_BODY_BYTES + 1))
    with pytest.raises(TooLarge):
        _parse(b"{}", CONTENT_LENGTH=str(MAX_BODY_BYTES + 1))


def test_a_view_may_take_larger_bodies():
    view = FakeView(max_body_bytes=16 * 1024 * 1024)
    body = b'{"a": "' + b"x" * (2 * MAX_BODY_BYTES) + b'"}'

    assert len(_parse(body, view=view)["a"]) == 2 * MAX_BODY_BYTES


@pytest.mark.parametrize(
    ("media_type", "headers"),
    [
        ("text/plain", {}),
        ("application/x-www-form-urlencoded", {}),
        ("multipart/form-data; boundary=x", {}),
        ("application/xml", {}),
        ("", {}),
        ("application/json; charset=latin-1", {}),
        ("application/json", {"HTTP_CONTENT_ENCODING": "gzip"}),
    ],
)
def test_anything_but_plain_utf8_json_is_an_unsupported_media_type(media_type, headers):
    with pytest.raises(UnsupportedMediaType):
        refuse_media_type(media_type, headers)


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "Application/JSON; charset=UTF-8", 'application/json; charset="utf-8"'],
)
def test_json_in_utf8_is_taken_however_it_is_spelled(media_type):
    refuse_media_type(media_type, {"HTTP_CONTENT_ENCODING": "identity"})
