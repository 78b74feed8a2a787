from __future__ import annotations

import pytest

from shared.redaction import MASK
from tasks.field_reader import Errors, FieldReader
from tasks.validation.secrets import read_secret, secret_problem


def read(data, **options):
    errors = Errors()
    value = read_secret(FieldReader(data, "#", errors), "password", **options)
    return value, [(error.pointer, error.code) for error in errors.renamed(str)]


def test_a_secret_is_read():
    assert read({"password": "s3cret"}) == ("s3cret", [])


@pytest.mark.parametrize(
    ("value", "code"),
    [("", "blank"), (" ", "blank"), (MASK, "secret_masked"), ("ü" * 2049, "too_long")],
)
def test_what_is_no_secret_is_refused(value, code):
    assert read({"password": value}) == (None, [("#/password", code)])


def test_a_secret_may_be_required_or_not():
    assert read({}) == (None, [("#/password", "required")])
    assert read({}, required=False) == (None, [])
    assert read({"password": None}, required=False) == (None, [])


def test_lines_are_allowed_where_they_are_asked_for():
    assert secret_problem("a\nb") is not None
    assert secret_problem("a\nb", printable=False) is None
