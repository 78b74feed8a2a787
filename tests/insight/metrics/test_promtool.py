"""The linter of Prometheus finds nothing in a scrape that has every metric."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from insight.metrics.catalogue import METRICS, Metric, Type
from insight.metrics.exposition import Collected, writer_for
from insight.metrics.reading import Histogram, Sample

PROMTOOL = shutil.which("promtool")


def sample_of(metric: Metric) -> Sample:
    labels = tuple((metric.known or {}).get(label, ("any",))[0] for label in metric.labels)
    if metric.type is Type.HISTOGRAM:
        return Sample(metric.name, labels, Histogram((1,) * (len(metric.bounds_ms) + 1), 2.5))
    return Sample(metric.name, labels, 1.0)


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool (apt-get install prometheus)")
def test_promtool_finds_nothing_in_a_scrape():
    assert PROMTOOL is not None
    writer, _ = writer_for("")
    text = writer(Collected(map(sample_of, METRICS)))

    found = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=text, capture_output=True, check=False
    )

    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")
    assert text.count(b"# TYPE") == len(METRICS)
