"""Draws the steps of a workflow as a graph, with the state of each in one run.

Up to 300 steps are drawn one by one, a fan-out as one of them; more are drawn by layers, with
counts. The page's list of steps has the same content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.templatetags.static import static
from django.utils.safestring import SafeString

from dashboard.pictures.layers import Layout, lay_out, layers_of
from dashboard.pictures.markup import (
    Attributes,
    Table,
    clipped,
    figure,
    joined,
    link,
    number,
    plural,
    tag,
)
from dashboard.state_vocabulary import STEP_LOOKS, UNDO_LOOKS, look_of

MOST_STEPS = 300
#: Nodes of a graph that is drawn by layers.
_MOST_GROUPS = 40
_WIDTH, _ICON, _EDGE = 186, 12, 2
#: Distance of layers beside each other, and below each other.
_ACROSS, _DOWN = 228, 82
#: Distance of the nodes of a layer that lie beside each other.
_BESIDE = 204
#: (height of a node, distance of rows); with more rows than a window has, nodes are lower.
_ROOMY, _DENSE, _MANY_ROWS = (44, 58), (28, 36), 20
#: Width of a page's picture. A wider graph goes from top to bottom where that is narrower.
_PAGE = 1080
_LETTERS, _NOTE_LETTERS = 20, 26
#: The state of a group is the first of these that one of its steps has.
_GRAVEST = (
    "FAILED",
    "NOT_UNDONE",
    "UNDOING",
    "RETRYING",
    "RUNNING",
    "WAITING",
    "QUEUED",
    "CANCELLED",
    "PENDING",
    "UNDONE",
    "SKIPPED",
    "SUCCEEDED",
)
_TOLD = (*STEP_LOOKS, *UNDO_LOOKS)
_LIST = Table((), ())
_SCROLLED: Attributes = {"tabindex": 0, "role": "group", "aria-label": "Graph of the steps"}


@dataclass(frozen=True, slots=True)
class DagStep:
    """A step as the graph shows it; ``state`` is None outside of a run."""

    number: int
    key: str
    depends_on: tuple[int, ...] = ()
    state: str | None = None
    note: str = ""
    href: str | None = None
    #: The step before it on the critical path; 0 for the first one, None beside the path.
    follows: int | None = None


@dataclass(frozen=True, slots=True)
class _Plane:
    """Where a place of the layout is drawn: layers from left to right, or from top to bottom."""

    is_down: bool
    height: int
    pitch: int

    def corner(self, layer: float, row: float) -> tuple[float, float]:
        """Return the upper left corner of a node."""
        if self.is_down:
            return row * _BESIDE + _EDGE, layer * _DOWN + _EDGE
        return layer * _ACROSS + _EDGE, row * self.pitch + _EDGE

    def ends(self, layer: float, row: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return where lines come into the place of a node, and where they leave it."""
        x, y = self.corner(layer, row)
        if self.is_down:
            middle = x + _WIDTH / 2
            return (middle, y), (middle, y + self.height)
        middle = y + self.height / 2
        return (x, middle), (x + _WIDTH, middle)


def dag(
    steps: Sequence[DagStep], title: str = "Steps", page: int = _PAGE, direction: str | None = None
) -> SafeString:
    """Return the graph; every prerequisite is among the steps, and there is no cycle.

    ``page`` is the width that it has in pixels; beyond it, the graph scrolls. ``direction`` is
    ``across`` or ``down``, None for the one that fits better.
    """
    shown = steps if len(steps) <= MOST_STEPS else _grouped(steps)
    layout = lay_out({step.number: step.depends_on for step in shown})
    plane = _plane(layout, page, direction)
    summary = _summary(steps, layout)
    width, height = plane.corner(layout.layers - 1, layout.height)
    if plane.is_down:
        width, height = layout.height * _BESIDE, (layout.layers - 1) * _DOWN
    is_linked = any(step.href for step in shown)
    drawing = tag(
        "svg",
        {
            "class": "dag",
            "width": number(max(width, 0) + _WIDTH + 2 * _EDGE),
            "height": number(max(height, 0) + plane.height + 2 * _EDGE),
            "role": "group" if is_linked else "img",
            "aria-label": summary,
            "data-roving": "" if is_linked else None,
        },
        tag("defs", {}, _arrow()),
        joined(
            _line(edge, layout, plane, is_critical=is_critical)
            for is_critical, edge in _edges(shown)
        ),
        joined(
            _node(step, layout.places[step.number], plane, is_first=not place)
            for place, step in enumerate(shown)
        ),
    )
    frame = tag("div", {"class": "picture-wide dag-frame", **_SCROLLED}, drawing)
    return figure("dag", title, summary, frame, table=_LIST)


def _plane(layout: Layout, page: int, direction: str | None) -> _Plane:
    """Return the asked direction, else the one that fits: down for long graphs, else across."""
    across = (layout.layers - 1) * _ACROSS + _WIDTH
    is_down = page < across and layout.height * _BESIDE + _WIDTH < across
    if direction is not None:
        is_down = direction == "down"
    height, pitch = _ROOMY if is_down or layout.height < _MANY_ROWS else _DENSE
    return _Plane(is_down, height, pitch)


def _node(step: DagStep, place: tuple[int, float], plane: _Plane, *, is_first: bool) -> SafeString:
    x, y = plane.corner(*place)
    is_critical = step.follows is not None
    path = "on the critical path" if is_critical else ""
    words = ", ".join(part for part in (step.key, _state_word(step), step.note, path) if part)
    css = f"node node-visited {look_of(step.state).css}" if step.state else "node node-plain"
    if is_critical:
        css += " is-critical"
    second = _second_line(step)
    has_two = plane.height == _ROOMY[0] and bool(second)
    left, name = x + (28 if step.state else 12), clipped(step.key, _LETTERS)
    return link(
        step.href,
        {
            "class": css,
            # One stop for the graph; arrow keys go on from there.
            "tabindex": (0 if is_first else -1) if step.href else None,
        },
        tag("title", {}, words),
        tag("rect", {"x": x, "y": y, "width": _WIDTH, "height": plane.height, "rx": 7}),
        _icon(step, x + 9, y + plane.height / 2 - _ICON / 2),
        _text("node-label", left, y + (18.0 if has_two else plane.height / 2 + 4.5), name),
        _text("node-note", left, y + 34.0, clipped(second, _NOTE_LETTERS)) if has_two else "",
    )


def _second_line(step: DagStep) -> str:
    """Return state and note; of a long one the note, and without its noun if it is still long.

    A count that is clipped in its middle would be another one.
    """
    whole = ", ".join(part for part in (_state_word(step), step.note) if part)
    shorter = (whole, step.note, step.note.replace(" items", ""))
    return next((text for text in shorter if len(text) <= _NOTE_LETTERS), shorter[-1])


def _state_word(step: DagStep) -> str:
    return look_of(step.state).label if step.state else ""


def _icon(step: DagStep, x: float, y: float) -> SafeString | str:
    if not step.state:
        return ""
    href = f"{static('icons.svg')}#{look_of(step.state).icon}"
    return tag("use", {"href": href, "x": x, "y": y, "width": _ICON, "height": _ICON})


def _text(css: str, x: float, y: float, text: str) -> SafeString:
    # The title of the node says the whole, and is its name.
    return tag("text", {"class": css, "x": x, "y": y, "aria-hidden": "true"}, text)


def _edges(steps: Sequence[DagStep]) -> list[tuple[bool, tuple[int, int]]]:
    """Return the lines; those of the critical path come last, and are drawn over the others."""
    return sorted(
        (
            (source == step.follows, (source, step.number))
            for step in steps
            for source in step.depends_on
        ),
        key=lambda line: line[0],
    )


def _line(edge: tuple[int, int], layout: Layout, plane: _Plane, *, is_critical: bool) -> SafeString:
    """Return the line of a dependency, which crosses each layer straight at its place there."""
    source, target = (layout.places[node] for node in edge)
    points = [plane.ends(*source)[1]]
    for place in layout.bends.get(edge, ()):
        points += plane.ends(*place)
    x, y = plane.ends(*target)[0]
    points.append((x, y - 3.0) if plane.is_down else (x - 3.0, y))
    way = "".join(_curve(one, other, plane.is_down) for one, other in pairwise(points))
    start = f"M{number(points[0][0])} {number(points[0][1])}"
    css = "edge is-critical" if is_critical else "edge"
    return tag("path", {"class": css, "d": start + way, "marker-end": "url(#dag-arrow)"})


def _curve(one: tuple[float, float], other: tuple[float, float], is_down: bool) -> str:
    """Return a line that leaves and arrives in the direction of the layers."""
    if is_down:
        middle = (one[1] + other[1]) / 2
        bends = ((one[0], middle), (other[0], middle))
    else:
        middle = (one[0] + other[0]) / 2
        bends = ((middle, one[1]), (middle, other[1]))
    return "C" + " ".join(f"{number(x)} {number(y)}" for x, y in (*bends, other))


def _arrow() -> SafeString:
    attributes: Attributes = {
        "id": "dag-arrow",
        "class": "dag-arrow",
        "viewBox": "0 0 8 8",
        "refX": 5,
        "refY": 4,
        "markerWidth": 7,
        "markerHeight": 7,
        "markerUnits": "userSpaceOnUse",
        "orient": "auto",
    }
    return tag("marker", attributes, tag("path", {"d": "M0 .5L7.5 4L0 7.5z"}))


def _grouped(steps: Sequence[DagStep]) -> list[DagStep]:
    """Return a node for each layer, or for as many layers as leave few nodes."""
    layers = layers_of({step.number: step.depends_on for step in steps})
    total = max(layers.values()) + 1
    width = -(-total // _MOST_GROUPS)
    members: dict[int, list[DagStep]] = {}
    for step in steps:
        members.setdefault(layers[step.number] // width, []).append(step)
    return [
        DagStep(
            group,
            _layer_words(group * width + 1, min((group + 1) * width, total)),
            (group - 1,) if group else (),
            _gravest(members[group]),
            _counts(members[group]),
        )
        for group in sorted(members)
    ]


def _layer_words(first: int, last: int) -> str:
    return f"Layer {first}" if first == last else f"Layers {first} to {last}"


def _gravest(steps: Sequence[DagStep]) -> str | None:
    states = {step.state for step in steps}
    return next((state for state in _GRAVEST if state in states), None)


def _counts(steps: Sequence[DagStep]) -> str:
    """Return how many steps there are, and how many of the gravest state where they differ."""
    gravest = _gravest(steps)
    count = sum(step.state == gravest for step in steps)
    if gravest is None or count == len(steps):
        return plural(len(steps), "step")
    return f"{count} of {len(steps):,}"


def _summary(steps: Sequence[DagStep], layout: Layout) -> str:
    if not steps:
        return "There are no steps."
    counts: Mapping[str, int] = Counter(step.state for step in steps if step.state)
    parts = [f"{counts[state]:,} {look_of(state).label}" for state in _TOLD if counts[state]]
    told = f": {', '.join(parts)}" if parts else ""
    on_path = 0 if len(steps) > MOST_STEPS else sum(one.follows is not None for one in steps)
    grouped = ", drawn by layers" if len(steps) > MOST_STEPS else ""
    path = f" The critical path, drawn thick, has {plural(on_path, 'step')}." if on_path else ""
    whole = f"{plural(len(steps), 'step')} in {plural(layout.layers, 'layer')}"
    return f"{whole}{grouped}{told}.{path}"
