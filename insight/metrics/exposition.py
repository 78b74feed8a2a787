"""Turn what was read into the two text formats of Prometheus, by the library's own writer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.utils import floatToGoString

from insight.metrics.catalogue import METRICS
from insight.metrics.metric import Metric, Type
from insight.metrics.reading import Histogram, Sample


class Collected:
    """The families of some samples, as the library's writer asks for them."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_metric: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            self._by_metric[sample.metric].append(sample)

    def collect(self) -> Iterator[Family]:
        """Yield the families in the order of the catalogue, without those that have no sample."""
        for metric in METRICS:
            samples = self._by_metric.get(metric.name)
            if samples:
                yield _family(metric, samples)


def writer_for(accept: str) -> tuple[Callable[[Any], bytes], str]:
    """Return the writer of :class:`Collected`, and its content type, one of two.

    OpenMetrics where the caller accepts it in version 1, else the text format. Not by the choice of
    the library, which raises at odd versions and repeats others, as the caller wrote them.
    """
    if any(_is_openmetrics(part) for part in accept.split(",")):
        return openmetrics.generate_latest, openmetrics.CONTENT_TYPE_LATEST
    return generate_latest, CONTENT_TYPE_PLAIN_0_0_4


def _is_openmetrics(part: str) -> bool:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    versions = {piece.partition("=")[2] for piece in parameters if piece.startswith("version=")}
    return kind == "application/openmetrics-text" and versions <= {"1.0.0"}


def _family(metric: Metric, samples: Sequence[Sample]) -> Family:
    labels = metric.labels
    if metric.type is Type.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.help, labels=labels, unit=metric.unit)
        for sample in samples:
            if isinstance(sample.value, Histogram):
                buckets = _cumulative(metric, sample.value)
                histogram.add_metric(sample.labels, buckets, sample.value.total)
        return histogram
    if metric.type is Type.COUNTER:
        family: CounterMetricFamily | GaugeMetricFamily = CounterMetricFamily(
            metric.name, metric.help, labels=labels
        )
    else:
        unit = metric.unit if metric.name.endswith(f"_{metric.unit}") else ""
        family = GaugeMetricFamily(metric.name, metric.help, labels=labels, unit=unit)
    for sample in samples:
        if not isinstance(sample.value, Histogram):
            family.add_metric(sample.labels, sample.value)
    return family


def _cumulative(metric: Metric, histogram: Histogram) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    below = 0
    bounds = (*(bound / 1000 for bound in metric.bounds_ms), float("inf"))
    for bound, count in zip(bounds, histogram.counts, strict=True):
        below += count
        found.append((str(floatToGoString(bound)), below))  # type: ignore[no-untyped-call]  # the library's
    return found
