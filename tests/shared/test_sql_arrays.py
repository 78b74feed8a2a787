"""Arrays as parameters: PostgreSQL reads what went in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.sql_arrays import of_blobs, of_moments, of_numbers, of_texts, of_uuids

pytestmark = pytest.mark.django_db

_TEXTS = st.lists(
    st.one_of(
        st.none(), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    ),
    max_size=8,
)


def read(text: str, kind: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s::{kind}[]", [text])
        return cursor.fetchone()[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_TEXTS)
def test_any_text_is_read_as_it_was_written(texts: list[str | None]):
    assert read(of_texts(texts), "text") == texts


@pytest.mark.parametrize(
    "texts", [[""], ["", ""], ["NULL", "null"], ['"', "\\"], ["a,b", "{}", " "]]
)
def test_what_looks_like_syntax_is_text(texts: list[str]):
    assert read(of_texts(texts), "text") == texts


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=8))
def test_blobs_are_read_as_they_were_written(blobs: list[bytes | None]):
    found = read(of_blobs(blobs), "bytea")

    assert [None if blob is None else bytes(blob) for blob in found] == blobs


def test_numbers_ids_and_moments_are_read_as_they_were_written():
    ids = [UUID(int=0), None, UUID(int=2**128 - 1)]
    moments = [
        datetime(2026, 11, 22, 1, 2, 3, 456789, tzinfo=UTC),
        None,
        datetime.max.replace(tzinfo=UTC),
    ]

    assert read(of_uuids(ids), "uuid") == ids
    assert read(of_moments(moments), "timestamptz") == moments
    assert read(of_numbers([1, None, -(2**63)]), "bigint") == [1, None, -(2**63)]
    assert read(of_numbers([0.1, None, 1e-300]), "float8") == [0.1, None, 1e-300]
    assert read(of_numbers([True, False]), "boolean") == [True, False]


@pytest.mark.parametrize("of", [of_blobs, of_moments, of_numbers, of_texts, of_uuids])
def test_nothing_is_an_empty_array(of: Any):
    assert of([]) == "{}"
