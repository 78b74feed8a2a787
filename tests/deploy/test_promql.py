"""The reader of expressions finds planted faults."""

from __future__ import annotations

import pytest

from tests.support import promql


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ('queue_dept{job="x"}', "there is no series queue_dept"),
        ('execution_delay_seconds{job="x"}', "there is no series execution_delay_seconds"),
        ('queue_depth_sum{job="x"}', "there is no series queue_depth_sum"),
        ('queue_depth{job="x", pool="a"}', "queue_depth has no label pool"),
        ('queue_depth{job="x", stage="late"}', "stage of queue_depth is never late"),
        ('queue_depth{job="x", stage!="late"}', "stage of queue_depth is never late"),
        (
            'execution_delay_seconds_bucket{job="x", le="5"}',
            "le of execution_delay_seconds_bucket is never 5",
        ),
        ('sum by (pool) (queue_depth{job="x"})', "no series has the label pool"),
    ],
)
def test_a_series_a_label_or_a_value_that_there_is_not_is_found(expression: str, fault: str):
    assert list(promql.breaches(expression)) == [fault]


def test_what_is_in_the_catalogue_is_no_fault():
    expression = (
        'histogram_quantile(0.9, sum by (le) (rate(execution_delay_seconds_bucket{job="x", '
        'le=~"1.0|5.0"}[5m]))) and on (pool) worker_utilization{job="x", pool="any"} > 0.8'
    )

    assert list(promql.breaches(expression)) == []
    assert promql.bare_names(expression) == set()


def test_a_name_without_matchers_is_found():
    assert promql.bare_names('sum(rate(a:b_total[5m])) / c{d="e"} > 2e3') == {"a:b_total"}
