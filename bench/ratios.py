"""The ratios of a stored result: what two runs on the same machine have to agree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bench.at_rest import Judged

Result = Mapping[str, Any]


def ratios_of(result: Result) -> dict[str, float]:
    """Return a result's ratios by name; nothing for a report that compares nothing."""
    read = _READ.get(result["report"])
    return {name: value for name, value in read(result) if value} if read else {}


def _peers(result: Result) -> Iterator[tuple[str, float | None]]:
    for peer, found in result["punctual_to"].items():
        for what, value in found.items():
            yield f"{what} to {peer}", value


def _at_rest(result: Result) -> Iterator[tuple[str, float]]:
    judged = result["sizes"][str(result["judged_size"])]
    empty, full = judged["empty"], judged["full"]
    for name in empty.keys() & full.keys():
        yield name, Judged(name, empty[name], full[name]).ratio


def _cold_tls(result: Result) -> Iterator[tuple[str, float]]:
    for kind, found in result["kinds"].items():
        if kind != "cold":
            yield f"{kind} to cold", found["times_cold"]


def _schedules(result: Result) -> Iterator[tuple[str, float]]:
    libraries = result["libraries"]
    for name in libraries.keys() - {"punctual"}:
        for what, rate in libraries[name].items():
            yield f"{what} to {name}", libraries["punctual"][what] / rate


def _named(*names: str) -> Callable[[Result], Iterator[tuple[str, float]]]:
    def read(result: Result) -> Iterator[tuple[str, float]]:
        for name in names:
            yield name, result[name]

    return read


_READ: dict[str, Callable[[Result], Iterator[tuple[str, float | None]]]] = {
    "peers-burst": _peers,
    "peers-steady": _peers,
    "peers-throughput": _peers,
    "at-rest": _at_rest,
    "cold-tls": _cold_tls,
    "schedules": _schedules,
    "herd": _named("ratio_to_raw"),
    "history-drop": _named("ratio_p99"),
    "limits-cost": _named("ratio"),
    "machines": _named("speed_up", "times_as_dear"),
}
