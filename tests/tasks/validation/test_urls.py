from __future__ import annotations

import pytest

from tasks.field_reader import Errors, FieldReader
from tasks.validation.urls import parse_noting, read_url
from tests.tasks.bodies import LIMITS


def read(url):
    errors = Errors()
    found = read_url(FieldReader({"url": url}, "#", errors), "url", LIMITS)
    return found, [error.code for error in errors.renamed(str)]


def test_a_url_that_may_be_called_is_read_as_it_was_written():
    assert read("HTTPS://Example.COM/ä") == ("HTTPS://Example.COM/ä", [])


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "blank"),
        (5, "invalid_type"),
        ("nonsense", "url_invalid"),
        ("http://[::1]/", "address_forbidden"),
        ("http://a.example:22/", "port_forbidden"),
    ],
)
def test_another_is_noted(url, code):
    assert read(url) == ("", [code])


def test_the_parts_of_a_url_are_answered():
    reader = FieldReader({}, "#", Errors())

    parsed = parse_noting(reader, "url", "https://a.example/x", LIMITS)

    assert parsed is not None
    assert (parsed.host, parsed.path_and_query) == ("a.example", "/x")
