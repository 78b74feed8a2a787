from __future__ import annotations

import codecs

import pytest

from delivery.answered_json import read_json, without_mark

TEXT = '{"state": "größer"}'


@pytest.mark.parametrize(
    "body",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        *(TEXT.encode(name) for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
    ],
)
def test_json_is_read_in_every_encoding_of_unicode_with_or_without_its_mark(body: bytes):
    assert read_json(body) == {"state": "größer"}


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", codecs.BOM_UTF8, b"\xff\xfe", b"\xff\xfe{", b"\0\0\0{", b"\xef\xbb\xbf[1"],
)
def test_anything_else_is_no_json(body: bytes):
    with pytest.raises(ValueError, match=r".*"):
        read_json(body)


def test_only_a_mark_at_the_begin_is_taken_away():
    assert without_mark(codecs.BOM_UTF8 + b"a" + codecs.BOM_UTF8) == b"a" + codecs.BOM_UTF8
