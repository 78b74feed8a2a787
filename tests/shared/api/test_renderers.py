from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import orjson
import pytest
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import NotAcceptable
from rest_framework.request import Request

from shared.api.renderers import (
    JsonNegotiation,
    OrjsonRenderer,
    accepts,
    accepts_json,
    dump_json,
)


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


@pytest.mark.parametrize(
    ("accept", "allowed"),
    [
        ("", True),
        ("*/*", True),
        ("application/*", True),
        ("application/json", True),
        ("application/problem+json", True),
        ("text/html, application/json;q=0.1", True),
        ("Application/JSON; charset=utf-8", True),
        ("text/html", False),
        ("application/xml, text/*", False),
        ("application/json;q=0", False),
        ("application/json;q=0, */*", False),
        ("*/*;q=0, application/json", True),
        ("application/*;q=0, */*", False),
        ("application/problem+json, application/json;q=0", True),
        ("application/json; q=0.000", False),
        (";;;,,,", False),
    ],
)
def test_only_callers_that_rule_json_out_are_not_served(accept, allowed):
    assert accepts_json(accept) is allowed


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("*", True),
        ("gzip;q=0, *", False),
        ("identity", False),
        ("x-gzip", False),
    ],
)
def test_encodings_are_accepted_like_types(header, allowed):
    assert accepts(header, "gzip") is allowed


def test_negotiation_gives_the_renderer_or_not_acceptable(rf):
    renderer, choose = OrjsonRenderer(), JsonNegotiation().select_renderer
    takes_json = Request(rf.get("/", headers={"accept": "application/json"}))
    takes_html = Request(rf.get("/", headers={"accept": "text/html"}))

    assert choose(takes_json, [renderer]) == (renderer, "application/json")
    with pytest.raises(NotAcceptable):
        choose(takes_html, [renderer])


def test_dates_of_any_year_render():
    assert dump_json(datetime(1, 1, 1, tzinfo=UTC)) == b'"0001-01-01T00:00:00.000Z"'
