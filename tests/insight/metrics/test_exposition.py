"""The text of a scrape, in both formats, read back by the library's own parsers."""

from __future__ import annotations

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from executions.models.minute_stat import START_DELAY_BUCKETS_MS
from insight.metrics.exposition import Collected, writer_for
from insight.metrics.reading import Histogram, Sample

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
SAMPLES = [
    Sample("queue_depth", ("due",), 3),
    Sample("tasks_failed_total", ("task",), 2),
    Sample(
        "execution_delay_seconds",
        (),
        Histogram((1, *[0] * (len(START_DELAY_BUCKETS_MS) - 1), 2), 130.5),
    ),
    Sample("worker_utilization", ('a "quoted"\npool',), 0.25),
]


def written(accept: str) -> tuple[str, str]:
    writer, content_type = writer_for(accept)
    return writer(Collected(SAMPLES)).decode(), content_type


def test_without_a_wish_it_is_the_text_format():
    text, content_type = written("")

    assert content_type.startswith("text/plain; version=")
    assert "# TYPE tasks_failed_total counter" in text
    assert 'tasks_failed_total{kind="task"} 2.0' in text


def test_openmetrics_is_written_where_it_is_accepted():
    text, content_type = written(OPENMETRICS)

    assert content_type.startswith("application/openmetrics-text")
    assert "# TYPE tasks_failed counter" in text
    assert "# UNIT execution_delay_seconds seconds" in text
    assert text.endswith("# EOF\n")


@pytest.mark.parametrize(("accept", "parser"), [("", plain), (OPENMETRICS, openmetrics)])
def test_what_is_written_is_read_back_as_it_was(accept, parser):
    found = {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in parser(written(accept)[0])
        for sample in family.samples
    }

    assert found["queue_depth", ("due",)] == 3
    assert found["tasks_failed_total", ("task",)] == 2
    assert found["execution_delay_seconds_bucket", ("0.001",)] == 1
    assert found["execution_delay_seconds_bucket", ("60.0",)] == 1
    assert found["execution_delay_seconds_bucket", ("+Inf",)] == 3
    assert found["execution_delay_seconds_count", ()] == 3
    assert found["execution_delay_seconds_sum", ()] == 130.5
    assert found["worker_utilization", ('a "quoted"\npool',)] == 0.25


def test_a_metric_without_samples_is_left_out():
    assert "punctual_recorders" not in written("")[0]


@pytest.mark.parametrize(
    ("accept", "is_openmetrics"),
    [
        ("application/openmetrics-text", True),
        (" Application/OpenMetrics-Text ; Version=1.0.0 ; q=0.5", True),
        ("text/html, application/openmetrics-text;version=1.0.0;escaping=allow-utf-8", True),
        ("application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.3", False),
        ("application/openmetrics-text;version=9.9.9", False),
        ("application/openmetrics-text;version=one", False),
        ("application/openmetrics-text;version=1.0.0\u0100", False),
        ("text/plain;version=1e3", False),
        ("text/plain;version=1.0.0;escaping=allow-utf-8", False),
        (";,;version=,=", False),
        ("*/*", False),
    ],
)
def test_an_odd_wish_gets_one_of_the_two_formats(accept: str, is_openmetrics: bool):
    text, content_type = written(accept)

    kind = "application/openmetrics-text; version=1.0.0" if is_openmetrics else "text/plain"
    assert content_type.startswith(kind)
    assert text.endswith("# EOF\n") == is_openmetrics
    assert "9.9" not in content_type
