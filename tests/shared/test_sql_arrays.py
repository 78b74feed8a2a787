"""Arrays as parameters: PostgreSQL reads what went in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import DataError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared import sql, sql_arrays
from shared.sql_arrays import (
    of_blobs,
    of_flags,
    of_floats,
    of_integers,
    of_moments,
    of_texts,
    of_uuids,
)

pytestmark = pytest.mark.django_db

_TEXTS = st.lists(
    st.one_of(
        st.none(), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    ),
    max_size=8,
)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Any]:
    """Return what a named statement answers that gives an array of this kind back."""

    def ask(array: Any, kind: str) -> Any:
        monkeypatch.setattr(sql, "statement", lambda _: f"SELECT %(array)s::{kind}[]")
        [(found,)] = sql.rows("any/statement", {"array": array})
        return found

    return ask


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_TEXTS)
def test_any_text_is_read_as_it_was_written(read: Any, texts: list[str | None]):
    assert read(of_texts(texts), "text") == texts


@pytest.mark.parametrize(
    "texts", [[""], ["", ""], ["NULL", "null"], ['"', "\\"], ["a,b", "{}", " "]]
)
def test_what_looks_like_syntax_is_text(texts: list[str], read: Any):
    assert read(of_texts(texts), "text") == texts


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=8))
def test_blobs_are_read_as_they_were_written(read: Any, blobs: list[bytes | None]):
    found = read(of_blobs(blobs), "bytea")

    assert [None if blob is None else bytes(blob) for blob in found] == blobs


def test_numbers_ids_and_moments_are_read_as_they_were_written(read: Any):
    ids = [UUID(int=0), None, UUID(int=2**128 - 1)]
    moments = [
        datetime(2026, 11, 22, 1, 2, 3, 456789, tzinfo=UTC),
        None,
        datetime.max.replace(tzinfo=UTC),
    ]

    assert read(of_uuids(ids), "uuid") == ids
    assert read(of_moments(moments), "timestamptz") == moments
    assert read(of_integers([1, None, -(2**63)]), "bigint") == [1, None, -(2**63)]
    assert read(of_integers([200, None]), "smallint") == [200, None]
    assert read(of_floats([0.1, None, 1e-300, 7]), "float8") == [0.1, None, 1e-300, 7.0]
    assert read(of_flags([True, False]), "boolean") == [True, False]


@pytest.mark.parametrize(
    ("of", "kind"),
    [
        (of_blobs, "bytea"),
        (of_flags, "boolean"),
        (of_floats, "float8"),
        (of_integers, "bigint"),
        (of_moments, "timestamptz"),
        (of_texts, "text"),
        (of_uuids, "uuid"),
    ],
)
def test_nothing_is_an_empty_array(of: Any, kind: str, read: Any):
    assert read(of([]), kind) == []


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_a_number_that_no_column_holds_is_an_error_of_the_data(number: int):
    with pytest.raises(DataError):
        of_integers([1, number])


def test_a_number_that_its_column_does_not_hold_is_an_error_of_the_data(read: Any):
    with pytest.raises(DataError):
        read(of_integers([2**15]), "smallint")


def test_a_text_that_no_column_holds_is_an_error_of_the_data(read: Any):
    with pytest.raises(DataError):
        read(of_texts(["a\0b"]), "text")


def test_every_process_knows_the_arrays_before_its_first_session():
    """A session knows what there was when it was made."""
    program = "import django, sys; django.setup(); print(sys.argv[1] in sys.modules)"

    said = subprocess.run(
        [sys.executable, "-c", program, sql_arrays.__name__],
        capture_output=True,
        text=True,
        check=True,
    )

    assert said.stdout.strip() == "True"
