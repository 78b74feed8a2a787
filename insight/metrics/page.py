"""The reference page of the metrics, rendered from their catalogue.

``docs/reference/metrics.md`` is this text; a test compares the two.
"""

from __future__ import annotations

from insight.metrics.catalogue import METRICS
from insight.metrics.metric import Metric

_HEAD = """# Metrics

Written from `insight/metrics/catalogue.py`; a test holds this page to it. `/metrics` shows these
series of the whole installation, from any web process:
[how to scrape it](../howto/scrape-with-prometheus.md). Names and labels are promises: a rename is
a breaking change.

How exact they are: totals of executions, attempts, delays, durations, dead letters and deliveries
are written in the transaction that they count, so that a killed process loses none and a repeated
report counts once. Totals of requests, refused writes and spans lie in Redis: those of requests
begin anew with each start of it, the others when it loses its data. After PostgreSQL was
restored from a backup, totals are those of the backup; Prometheus takes less than before for a new
beginning, so leave that moment out of rates. Gauges are read when asked, at most once a second.
"""


def render_metrics() -> str:
    """Return the page as Markdown: each metric with its type, labels, meaning and advice."""
    return "\n".join([_HEAD, *("\n".join(_part(metric)) for metric in METRICS)])


def _part(metric: Metric) -> list[str]:
    unit = f", in {metric.unit}" if metric.unit else ""
    return [
        f"## {metric.name}",
        "",
        f"{metric.type.capitalize()}{unit}. {_labels(metric)}",
        "",
        metric.help,
        "",
        metric.advice,
        "",
    ]


def _labels(metric: Metric) -> str:
    if metric.bounds_ms:
        bounds = ", ".join(f"{bound / 1000:g}" for bound in metric.bounds_ms)
        buckets = f" Buckets up to {bounds} s, and above."
    else:
        buckets = ""
    if not metric.labels:
        return f"No labels.{buckets}"
    known = metric.known or {}
    words = [
        f"`{label}`" + (f" ({', '.join(known[label])})" if label in known else "")
        for label in metric.labels
    ]
    return f"Labels: {', '.join(words)}.{buckets}"
