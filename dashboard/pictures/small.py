"""Draws the small pictures inside rows and cards: sparkline and gauge."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString

from dashboard.pictures.markup import number, percent, tag

_WIDTH, _HEIGHT = 100.0, 24.0
_NEARLY_FULL = 0.9


def sparkline(
    values: Sequence[int],
    *,
    label: str,
    name: str | None = None,
    summed: bool = True,
    bad: bool = False,
) -> SafeString:
    """Return a line of counts, oldest first; ``label`` names them, like "Failures in 24 h".

    ``bad`` counts have the colour of failures, all others a neutral one.
    ``name`` is the name of its numbers on the page, by which a recount finds them. Levels, like
    requests in flight, are not ``summed``.
    """
    summary = _summary(values, label, summed=summed)
    points = _points(values)
    floor = number(_HEIGHT - 1)
    shapes: list[SafeString] = []
    if points:
        line = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        first, last = number(points[0][0]), number(points[-1][0])
        shapes = [
            tag("path", {"class": "spark-area", "d": f"M{first} {floor}L{line}L{last} {floor}z"}),
            tag("path", {"class": "spark-line", "d": f"M{line}"}),
        ]
    return tag(
        "svg",
        {
            "class": "sparkline spark-bad" if bad else "sparkline",
            "viewBox": f"0 0 {number(_WIDTH)} {number(_HEIGHT)}",
            "preserveAspectRatio": "none",
            "role": "img",
            "aria-label": summary,
            "data-number": name,
        },
        tag("title", {}, summary),
        *shapes,
    )


def gauge(
    used: int, total: int, *, label: str, unit: str = "slots", name: str | None = None
) -> SafeString:
    """Return a bar with its number; a use above the total fills it and is marked.

    ``name`` is the name of the number on its page, by which a recount finds it.
    """
    used, total = max(used, 0), max(total, 0)
    share = used / total if total else float(used > 0)
    level = "over" if used > total else "high" if total and share >= _NEARLY_FULL else "normal"
    text = f"{used:,} of {total:,} {unit}"
    bar = tag(
        "svg",
        {"class": "gauge-bar", "width": "100%", "height": 8, "aria-hidden": "true"},
        tag("rect", {"class": "gauge-ground", "width": "100%", "height": 8, "rx": 4}),
        tag("rect", {"class": "gauge-fill", "width": percent(share), "height": 8, "rx": 4}),
    )
    return tag(
        "div",
        {
            "class": f"gauge gauge-{level}",
            "role": "meter",
            "aria-label": label,
            "aria-valuemin": 0,
            "aria-valuemax": max(total, used, 1),
            "aria-valuenow": used,
            "aria-valuetext": text,
        },
        bar,
        tag(
            "span",
            {"class": "gauge-number", "aria-hidden": "true", "data-number": name},
            f"{used:,}/{total:,}",
        ),
    )


def _points(values: Sequence[int]) -> list[tuple[float, float]]:
    if not values:
        return []
    highest = max(*values, 1)
    counts = [max(value, 0) for value in values]
    # One value is a level line, because a single dot would be invisible.
    counts = counts * 2 if len(counts) == 1 else counts
    step = _WIDTH / (len(counts) - 1)
    reach = _HEIGHT - 3
    return [
        (place * step, _HEIGHT - 1 - count / highest * reach) for place, count in enumerate(counts)
    ]


def _summary(values: Sequence[int], label: str, *, summed: bool) -> str:
    if not any(values):
        return f"{label}: none."
    total = f"{sum(values):,} in all, " if summed else ""
    return f"{label}: {total}{max(values):,} at most, {values[-1]:,} last."
