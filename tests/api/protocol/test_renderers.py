from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import orjson
import pytest
from django.utils.translation import gettext_lazy

from api.protocol.renderers import OrjsonRenderer, dump_json


def test_times_are_utc_with_milliseconds():
    moment = datetime(2026, 11, 20, 9, 0, 0, 123999, tzinfo=timezone(timedelta(hours=1)))

    assert dump_json({"at": moment}) == b'{"at":"2026-11-20T08:00:00.123Z"}'


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (date(2026, 11, 20), "2026-11-20"),
        (timedelta(seconds=90), 90.0),
        (Decimal("1.5"), 1.5),
        (gettext_lazy("text"), "text"),
        ({"b", "a"}, ["a", "b"]),
        (2**63 - 1, 2**63 - 1),
    ],
)
def test_every_value_has_one_wire_form(value, wire):
    assert orjson.loads(dump_json(value)) == wire


def test_an_unknown_type_is_an_error_not_a_guess():
    with pytest.raises(TypeError):
        dump_json(object())


def test_nothing_renders_as_no_body_at_all():
    assert OrjsonRenderer().render(None) == b""
    assert OrjsonRenderer().render({}) == b"{}"


def test_dates_of_any_year_render():
    assert dump_json(datetime(1, 1, 1, tzinfo=UTC)) == b'"0001-01-01T00:00:00.000Z"'
