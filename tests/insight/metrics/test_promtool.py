"""The linter of Prometheus finds nothing in a scrape that has every metric."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.conf import settings
from django.test import Client

from api import scraping
from insight.metrics.catalogue import METRICS
from insight.metrics.collector import Collector
from insight.metrics.exposition import Collected, writer_for
from insight.metrics.metric import Metric, Type
from insight.metrics.reading import Histogram, Sample
from tests.support.promtool import promtool
from wire import heartbeats

_TOKEN = "a-token-of-a-scraper-0123456789abcdef"


def sample_of(metric: Metric) -> Sample:
    labels = tuple((metric.known or {}).get(label, ("any",))[0] for label in metric.labels)
    if metric.type is Type.HISTOGRAM:
        return Sample(metric.name, labels, Histogram((1,) * (len(metric.bounds_ms) + 1), 2.5))
    return Sample(metric.name, labels, 1.0)


def _is_clean(text: bytes) -> None:
    found = promtool("check", "metrics", text=text)
    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")


def test_promtool_finds_nothing_in_the_catalogue():
    writer, _ = writer_for("")
    text = writer(Collected(map(sample_of, METRICS)))

    assert text.count(b"# TYPE") == len(METRICS)
    _is_clean(text)


@pytest.mark.django_db
def test_promtool_finds_nothing_in_a_scrape(monkeypatch: pytest.MonkeyPatch):
    opened = replace(settings.PUNCTUAL, metrics_token=_TOKEN, metrics_tenants=1)
    monkeypatch.setattr(settings, "PUNCTUAL", opened)
    monkeypatch.setattr(scraping, "COLLECTOR", Collector())
    heartbeats.beat("a", {"pool": "default", "slots": 4, "certificate_ends_at": 4e9})
    client = Client(headers={"authorization": f"Bearer {_TOKEN}"})
    assert client.get("/healthz").status_code == 200  # a request to be counted

    text = client.get("/metrics").content

    assert text.count(b"# TYPE") == len(METRICS)
    _is_clean(text)
