from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import RequestFactory

from dashboard import list_filter
from insight import list_budget
from insight.filter_language.conditions import begins
from insight.filter_language.fields import EXECUTIONS, TASKS


def read(**query):
    return list_filter.read_filter(
        {"filter": None, "add": None, "value": None, **query}, EXECUTIONS
    )


def test_older_parameters_are_read_into_the_text_of_the_field():
    found = read(filter="http:5xx", status=["FAILED", "QUEUED"], q="a:b c")

    assert found.text == 'http:5xx status:failed,queued "a:b c"'
    assert found.wanted.text == "http:5xx"


def test_the_bounds_of_an_address_are_terms_of_its_text():
    since, until = (datetime(2026, 11, 20, hour, tzinfo=UTC) for hour in (8, 9))

    found = read(since=since, until=until)

    assert found.text == (
        "scheduled:>=2026-11-20T08:00:00.000Z scheduled:<2026-11-20T09:00:00.000Z"
    )
    assert {"since", "until"} <= {*found.replaced}
    assert begins(found.box)
    assert not found.wanted.terms


def test_a_parameter_that_no_term_can_say_stays_one():
    query = {"filter": None, "owner": "a*", "type": "RECURRING", "label": "team:a b"}
    found = list_filter.read_filter(query, TASKS)

    assert found.text == 'type:recurring label:"team:a b"'
    assert {"type", "label"} <= {*found.replaced}
    assert "owner" not in found.replaced


def test_what_cannot_be_read_is_shown_again_beside_its_error():
    found = read(filter="stats:failed")

    assert (found.text, found.position, found.box.terms) == ("stats:failed", 1, ())
    assert "Did you mean status:" in found.error
    assert found.read(dict, order="-id", none={"rows": []}) == {"rows": []}


def test_chips_change_their_own_term_and_no_other():
    chips = {chip.value: chip for chip in read(filter="http:5xx status:failed").chips("status")}

    assert chips["FAILED"].here
    assert not chips[""].here
    assert chips[""].filter == "http:5xx"
    assert chips["QUEUED"].filter == "http:5xx status:queued"
    assert chips["FAILED"].count is None


def test_a_term_is_removed_by_its_link():
    shown = read(filter="http:5xx invoice").terms

    assert [(term.text, term.without) for term in shown] == [
        ("http:5xx", "invoice"),
        ("invoice", "http:5xx"),
    ]


def test_the_form_writes_the_same_text_and_keeps_the_rest_of_the_url():
    request = RequestFactory().get(
        "/executions", {"window": "7d", "q": "x", "add": "delay", "value": ">1s", "cursor": "c"}
    )
    query = {"filter": None, "q": "x", "add": "delay", "value": ">1s"}
    found = list_filter.read_filter(query, EXECUTIONS)

    answer = list_filter.added(request, query, found)

    assert answer is not None
    assert answer["Location"] == "/executions?window=7d&filter=x+delay%3A%3E1s"


@pytest.mark.parametrize(
    ("add", "value", "term"),
    [
        ("task", "nightly report", 'task:"nightly report"'),
        ("status", "failed, retrying", "status:failed,retrying"),
        ("task", '"a, b",c', 'task:"a, b",c'),
    ],
)
def test_a_value_of_the_form_may_hold_spaces(add: str, value: str, term: str):
    query = {"filter": "invoice", "add": add, "value": value}
    found = list_filter.read_filter(query, EXECUTIONS)

    answer = list_filter.added(RequestFactory().get("/executions"), query, found)

    assert answer is not None
    assert parse_qsl(urlsplit(answer["Location"]).query) == [("filter", f"invoice {term}")]


def test_a_term_that_makes_the_filter_too_long_is_an_error_of_the_page():
    query = {"filter": "x" * 1990, "add": "task", "value": "y" * 100}
    found = list_filter.read_filter(query, EXECUTIONS)

    assert list_filter.added(RequestFactory().get("/executions"), query, found) is None
    assert "at most 2000 characters" in found.error


@pytest.mark.parametrize(("add", "value"), [("delay", "soon"), ("nothing", "1"), ("http", '"')])
def test_a_value_that_cannot_be_read_becomes_the_error_of_the_filter(add: str, value: str):
    query = {"filter": "invoice", "add": add, "value": value}
    found = list_filter.read_filter(query, EXECUTIONS)

    assert list_filter.added(RequestFactory().get("/executions"), query, found) is None
    assert f"'{add}:{value}'" in found.error
    assert found.text == "invoice"


def test_a_list_that_takes_too_long_offers_smaller_windows(monkeypatch: pytest.MonkeyPatch):
    def take_too_long(milliseconds, rows):
        raise list_budget.OutOfTime

    monkeypatch.setattr(list_budget, "within", take_too_long)
    found = read(filter="delay:>1s scheduled:-30d")
    tasks = list_filter.read_filter({"filter": "x"}, TASKS)

    assert found.read(dict, order="-id", none={"rows": []}) == {"rows": []}
    assert tasks.read(dict, order="-created_at", none={}) == {}
    assert "over two seconds" in found.error
    assert [text for _, text in found.narrower] == [
        "delay:>1s scheduled:-24h",
        "delay:>1s scheduled:-1h",
    ]
    assert tasks.narrower == ()
