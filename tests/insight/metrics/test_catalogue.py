"""The catalogue keeps to the conventions of Prometheus, and readers yield nothing else."""

from __future__ import annotations

import re

import pytest

from insight.metrics.catalogue import METRICS
from insight.metrics.metric import Metric, Type

#: Names that were promised without a prefix.
PROMISED = {
    "tasks_scheduled_total",
    "tasks_executed_total",
    "tasks_failed_total",
    "execution_delay_seconds",
    "queue_depth",
    "worker_utilization",
}
each = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


def test_the_promised_names_are_there_and_the_others_have_the_prefix():
    names = [metric.name for metric in METRICS]

    assert len(set(names)) == len(names)
    assert {name for name in names if not name.startswith("punctual_")} == PROMISED


@each
def test_names_say_what_is_counted_in_base_units(metric: Metric):
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", metric.name)
    assert metric.name.endswith("_total") == (metric.type is Type.COUNTER)
    assert not re.search(r"_(ms|milliseconds|minutes|kb|percent)\b", metric.name)
    assert (metric.unit == "seconds") == metric.name.endswith("_seconds")


@each
def test_it_says_what_it_means_and_what_to_do(metric: Metric):
    for text in (metric.help, metric.advice):
        assert text[0].isupper() or text[0] in "`1"
        assert text.endswith(".")


@each
def test_known_values_are_of_labels_that_it_has(metric: Metric):
    assert set(metric.known or {}) <= set(metric.labels)
    assert bool(metric.bounds_ms) == (metric.type is Type.HISTOGRAM)
    assert sorted(set(metric.bounds_ms)) == list(metric.bounds_ms)


def test_no_label_is_a_text_that_a_tenant_writes():
    free = {
        label for metric in METRICS for label in metric.labels if label not in (metric.known or {})
    }

    assert free == {"pool", "state", "operation", "method", "status", "tenant", "version"}
