"""Reads expressions of Prometheus, and finds what the catalogue of metrics does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client.utils import floatToGoString

from insight.metrics.catalogue import BY_NAME
from insight.metrics.metric import Type

_TEXT = r'"(?:[^"\\]|\\.)*"'
_SELECTOR = re.compile(rf"([a-zA-Z_:][\w:]*)\s*\{{((?:{_TEXT}|[^}}\"])*)\}}")
_MATCHER = re.compile(rf"(\w+)\s*(=~|!~|!=|=)\s*({_TEXT})")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_RANGE = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(r"(?<![\w.$:])[a-zA-Z_:][\w:]*")
#: The functions and operators that these files use.
_LANGUAGE = frozenset(
    "absent and clamp_min histogram_quantile increase max min or rate sum time unless".split()
)
#: The labels that every series of a scrape has, and the series that Prometheus makes itself.
_OF_SCRAPE = frozenset({"instance", "job"})
_OF_PROMETHEUS: Mapping[str, Sequence[str]] = {"up": ()}
_SUFFIXES = ("_bucket", "_count", "_sum")


class Selector(NamedTuple):
    """A series by its name, and its matchers: label, operator, text."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]

    def value_of(self, label: str) -> str | None:
        """Return the text that the label has to equal."""
        return next(
            (text for name, sign, text in self.matchers if (name, sign) == (label, "=")), None
        )


def selectors(expression: str) -> list[Selector]:
    """Return the series of an expression that have matchers."""
    return [
        Selector(
            name,
            tuple((label, sign, text[1:-1]) for label, sign, text in _MATCHER.findall(inside)),
        )
        for name, inside in _SELECTOR.findall(expression)
    ]


def bare_names(expression: str) -> set[str]:
    """Return what an expression names without matchers, and is no word of the language."""
    rest = _RANGE.sub("", _GROUPING.sub("", _SELECTOR.sub("", expression)))
    return set(_WORD.findall(rest)) - _LANGUAGE


def grouped(expression: str) -> set[str]:
    """Return the labels by which an expression groups or joins."""
    return {
        label.strip()
        for inside in _GROUPING.findall(expression)
        for label in inside.split(",")
        if label.strip()
    }


def labels_of(name: str) -> set[str] | None:
    """Return the labels of a series by its name in a scrape; None where there is none."""
    if name in _OF_PROMETHEUS:
        return {*_OF_SCRAPE, *_OF_PROMETHEUS[name]}
    metric = BY_NAME.get(name)
    if metric is not None:
        return None if metric.type is Type.HISTOGRAM else {*_OF_SCRAPE, *metric.labels}
    stem = next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name)
    metric = BY_NAME.get(stem)
    if metric is None or metric.type is not Type.HISTOGRAM:
        return None
    return {*_OF_SCRAPE, *metric.labels, *({"le"} if name.endswith("_bucket") else ())}


def breaches(expression: str) -> Iterator[str]:
    """Yield what is wrong with the series of an expression, by the catalogue of metrics."""
    found = selectors(expression)
    known: set[str] = set()
    for selector in found:
        labels = labels_of(selector.name)
        if labels is None:
            yield f"there is no series {selector.name}"
            continue
        known |= labels
        for label, sign, text in selector.matchers:
            if label not in labels:
                yield f"{selector.name} has no label {label}"
            elif sign in ("=", "!=") and not _may_be(selector.name, label, text):
                yield f"{label} of {selector.name} is never {text}"
    for label in sorted(grouped(expression) - known):
        yield f"no series has the label {label}"


def _may_be(name: str, label: str, text: str) -> bool:
    if label == "le":
        histogram = BY_NAME[name.removesuffix("_bucket")]
        bounds = [str(floatToGoString(bound / 1000)) for bound in histogram.bounds_ms]
        return text in (*bounds, "+Inf")
    metric = BY_NAME.get(name) or BY_NAME.get(name.rpartition("_")[0])
    known = (metric.known or {}) if metric else {}
    return label not in known or text in known[label]
