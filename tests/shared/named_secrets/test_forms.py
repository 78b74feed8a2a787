"""A value is found in the forms in which calls and answers write it."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from shared.named_secrets.forms import cut_at_begin, cut_at_end, forms_of

VALUE = 'a/b+c "d"&\u00e4=0815'


def masked(data: bytes) -> bytes:
    for form in sorted(forms_of(VALUE), key=len, reverse=True):
        data = data.replace(form, b"#")
    return data


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1].replace("/", "\\/"),
        quote(VALUE),
        quote(VALUE, safe=""),
        quote_plus(VALUE),
        html.escape(VALUE),
    ],
)
def test_an_escaped_value_is_found(written):
    assert masked(f"<{written}>".encode()) == b"<#>"


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_value_within_base64_is_found_wherever_it_stands(before, encode):
    left = masked(encode(f"{before}{VALUE}:after".encode()))

    assert left.count(b"#") == 1
    # What is left of the value is less than a letter at each side.
    assert len(left) <= len(encode(before.encode())) + len(encode(b":after")) + 3


def test_a_short_value_has_no_form():
    assert forms_of("short") == set()


def test_what_is_left_at_a_cut_is_counted():
    form = b"s3cret-value"

    assert cut_at_end(b"is s3cret-", form) == 7
    assert cut_at_begin(b"t-value is", form) == 7
    assert cut_at_end(b"is s3", form) == cut_at_begin(b"ue is", form) == 0
    assert cut_at_end(b"", form) == cut_at_begin(b"", form) == 0
