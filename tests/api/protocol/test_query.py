from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.http import QueryDict

from api.protocol import query
from api.protocol.query import read_query
from shared.exceptions import InvalidInput

ID = "0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1"
PARAMETERS = {
    "status": query.choices("FAILED", "SUCCEEDED"),
    "type": query.choice("ONE_TIME", "RECURRING"),
    "task": query.uuid(),
    "since": query.instant(),
    "q": query.text(max_length=10),
    "limit": query.integer(minimum=1, maximum=200),
    "resolved": query.boolean(default=False),
}


def test_every_kind_reads_its_value():
    values = read_query(
        QueryDict(
            f"status=FAILED,SUCCEEDED&status=FAILED&type=ONE_TIME&task={ID}"
            "&since=2026-11-20T09:00:00%2B01:00&q=x&limit=7&resolved=true"
        ),
        PARAMETERS,
    )

    assert values == {
        "status": ["FAILED", "SUCCEEDED", "FAILED"],
        "type": "ONE_TIME",
        "task": UUID(ID),
        "since": datetime(2026, 11, 20, 8, tzinfo=UTC),
        "q": "x",
        "limit": 7,
        "resolved": True,
    }


def test_what_is_not_given_is_its_default():
    values = read_query(QueryDict(""), PARAMETERS)

    assert values.pop("resolved") is False
    assert set(values.values()) == {None}


@pytest.mark.parametrize(
    "given",
    [
        "status=BROKEN",
        "status=",
        "type=ONE_TIME&type=RECURRING",
        "task=7",
        "task={0193b1a27c3d7e4f8a5b6c7d8e9fa0b1}",
        "since=2026-11-20",
        "since=2026-11-20T08:00:00",
        "q=a%00b",
        "q=12345678901",
        "limit=0",
        "limit=201",
        "limit=1.0",
        "limit=%D9%A1",
        "limit=" + "9" * 5000,
        "limit=",
        "resolved=1",
    ],
)
def test_a_bad_value_is_refused_and_points_at_its_parameter(given):
    with pytest.raises(InvalidInput) as raised:
        read_query(QueryDict(given), PARAMETERS)

    assert [error.pointer for error in raised.value.errors] == [f"?{given.split('=')[0]}"]


def test_an_unknown_parameter_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInput) as raised:
        read_query(QueryDict("statsu=FAILED&zzz=1"), PARAMETERS)

    first, second = raised.value.errors
    assert (first.pointer, first.code) == ("?statsu", "unknown_parameter")
    assert "'status'" in first.message
    assert "mean" not in second.message
