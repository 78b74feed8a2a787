from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from bench.lists import missed_targets, questions
from insight.filter_language.fields import EXECUTIONS
from insight.filter_language.terms import parse
from insight.list_orders import EXECUTION_ORDERS


def test_every_field_and_every_order_is_asked_with_filters_that_are_read():
    asked = [parse_qs(urlsplit(path).query) for _, path in questions("2026-11-15")]
    filters = [parse(one["filter"][0], EXECUTIONS) for one in asked if "filter" in one]

    assert {term.key for one in filters for term in one.terms} >= EXECUTIONS.fields.keys()
    assert {one["ordering"][0] for one in asked if "ordering" in one} == EXECUTION_ORDERS.keys()


def test_a_slow_answer_and_a_failed_one_miss_and_a_refusal_in_time_does_not():
    figures = {"count": 5, "errors": 0, "refused": 0, "p95": 900.0}
    found = {
        "quick": figures,
        "slow": {**figures, "p95": 1200.0},
        "refused": {**figures, "p95": 2100.0, "refused": 5},
        "console: a day": {**figures, "p95": 300.0},
        "broken": {**figures, "errors": 1},
    }

    assert [line.partition(",")[0] for line in missed_targets(found)] == [
        "target missed: slow",
        "target missed: console: a day",
        "not answered: broken",
    ]
