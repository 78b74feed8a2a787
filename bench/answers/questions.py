"""Every GET of the API's own description, with each of its parameters, and calls that it refuses.

The OpenAPI document is the list: a path without a question, or a parameter that no question sends,
is an error, so that none is forgotten when the API grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

_PLACE = re.compile(r"\{(\w+)\}")
#: Values of parameters that the document does not list.
VALUES: Mapping[str, tuple[str, ...]] = {
    "after": ("api.example.com",),
    "at": ("2026-11-18T11:00:00Z", "2026-11-18T12:30:00Z", "2026-11-14T11:59:00Z"),
    "action": ("task.created",),
    "actor": ("system",),
    "attempt": ("1", "2"),
    "concurrency_key": ("none",),
    "cursor": ("made-up",),
    "day": ("2026-11-18",),
    "days": ("1", "7"),
    "destination": ("api.example.com", "slow.example.com"),
    "error_signature": ("http_status:503", "timeout:"),
    "filter": ("label:team:billing", "-task:Each*", "hour", "nothing:here"),
    "from": ("2026-11-18T00:00:00Z", "2026-11-19T00:00:00Z"),
    "hours": ("1", "24"),
    "label": ("team:billing", "team:team-1", "nothing:here"),
    "limit": ("1", "7", "200"),
    "member": ("1",),
    "month": ("2026-11",),
    "minutes": ("1", "60", "1440"),
    "object_id": ("nothing",),
    "object_kind": ("task",),
    "owner": ("ann@example.com", "nobody"),
    "page": ("1", "2", "999"),
    "path": ("/in",),
    "pool": ("default", "batch", "pull.batch"),
    "q": ("hour", "503", "Holidays", "nothing-like-it", "worker"),
    "resolution": ("fixed", "retried"),
    "since": ("2026-11-18T06:00:00Z", "2026-11-10T00:00:00Z"),
    "timezone": ("Europe/Berlin",),
    "to": ("2026-11-18T18:00:00Z",),
    "until": ("2026-11-18T06:00:00Z", "2026-11-18T13:00:00Z"),
    "webhook_id": ("none",),
}
#: Questions with several parameters at a time, by path.
TOGETHER: Mapping[str, tuple[str, ...]] = {
    "/v1/executions": (
        "status=FAILED&status=CANCELLED&ordering=id",
        "status=PENDING&status=QUEUED&status=RUNNING&status=RETRYING&limit=5",
        "status=SUCCEEDED&since=2026-11-17T00:00:00Z&until=2026-11-18T00:00:00Z",
        "ordering=due_at&limit=33",
        "ordering=-due_at&limit=33",
        "ordering=scheduled_for&status=PENDING&status=SUCCEEDED",
        "due=late&ordering=due_at",
        "ended=last_hour&status=SUCCEEDED",
        "pool=batch&status=PENDING",
        "q=Each&status=FAILED",
        "page=2&limit=11&ordering=id",
        "page=3&limit=200",
    ),
    "/v1/tasks": (
        "status=PAUSED&type=RECURRING",
        "label=team:billing&label=tier:gold",
        "ordering=name&limit=4",
        "ordering=-priority&limit=9",
        "q=Each&status=SCHEDULED",
        "page=2&limit=10",
    ),
    "/v1/dlq": ("resolved=false&ordering=created_at&limit=3", "q=503&resolved=true"),
    "/v1/tasks/{task_id}/occurrences": (
        "from=2026-11-17T00:00:00Z&to=2026-11-19T12:00:00Z&limit=13",
    ),
    "/v1/forecast": ("days=2&label=team:billing",),
}
#: Lists with questions about each task, executions about each parameter, would be thousands:
#: of a placeholder's values this many are asked with every parameter, the rest without any.
_WITH_PARAMETERS = 6
#: Refused parameters, by path.
REFUSED = ("limit=0", "limit=x", "page=0", "status=NONE", "unknown=1", "ordering=none", "since=x")


@dataclass(frozen=True, slots=True)
class Question:
    """A path of the document, filled in, with its query; ``walk`` follows the list to its end."""

    template: str
    path: str
    query: str = ""
    walk: bool = False

    @property
    def url(self) -> str:
        """Return what is asked."""
        return f"{self.path}?{self.query}" if self.query else self.path


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A GET of the document and its query parameters with the values to send."""

    template: str
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    walks: bool = False


class Forgotten(Exception):
    """The document has paths or parameters that no question asks."""


def endpoints(document: Mapping[str, Any], ids: Mapping[str, list[str]]) -> list[Endpoint]:
    """Return every GET of the document; raise Forgotten for what there is no value for."""
    found, missing = [], []
    for template, methods in sorted(document["paths"].items()):
        if "get" not in methods:
            continue
        missing += [f"{template}: {name}" for name in _PLACE.findall(template) if name not in ids]
        parameters = {}
        for parameter in methods["get"].get("parameters", ()):
            if parameter["in"] == "query":
                name = parameter["name"]
                parameters[name] = values = _values(name, parameter["schema"], ids)
                missing += [] if values else [f"{template}: ?{name}"]
        found.append(Endpoint(template, parameters, "cursor" in parameters))
    if missing:
        raise Forgotten("no value is known for " + ", ".join(missing))
    return found


def _values(name: str, schema: Mapping[str, Any], ids: Mapping[str, list[str]]) -> tuple[str, ...]:
    schema = schema.get("items", schema)
    if "enum" in schema:
        return tuple(map(str, schema["enum"]))
    if schema.get("type") == "boolean":
        return ("true", "false")
    if schema.get("format") == "uuid":
        return tuple(ids.get(name, ids.get(f"{name}_id", []))[:4])
    return VALUES.get(name, ())


def questions(found: Iterable[Endpoint], ids: Mapping[str, list[str]]) -> Iterator[Question]:
    """Yield every question to a tenant's own rows."""
    for endpoint in found:
        paths = list(_paths(endpoint.template, ids))
        for place, path in enumerate(paths):
            yield Question(endpoint.template, path, walk=endpoint.walks)
            if place % max(1, len(paths) // _WITH_PARAMETERS) == 0:
                yield from _with_parameters(endpoint, path)
        if "{" in endpoint.template:
            for name in _PLACE.findall(endpoint.template)[:1]:
                for strange in (ids["unknown"][0], "no-id"):
                    filled = endpoint.template.replace(f"{{{name}}}", strange)
                    yield Question(endpoint.template, filled)
        yield from (Question(endpoint.template, paths[0], query) for query in REFUSED)


def strange(found: Iterable[Endpoint], others: Mapping[str, list[str]]) -> Iterator[Question]:
    """Yield questions to the rows of another tenant, of which there are none for this one."""
    for endpoint in found:
        if "{" in endpoint.template:
            for path in list(_paths(endpoint.template, others))[:3]:
                yield Question(endpoint.template, path)


def _paths(template: str, ids: Mapping[str, list[str]]) -> Iterator[str]:
    found = [template]
    for name in _PLACE.findall(template):
        found = [one.replace(f"{{{name}}}", value) for one in found for value in ids[name]]
    yield from found


def _with_parameters(endpoint: Endpoint, path: str) -> Iterator[Question]:
    for name, values in endpoint.parameters.items():
        for value in values:
            walk = endpoint.walks and name not in ("page", "cursor")
            yield Question(endpoint.template, path, urlencode({name: value}), walk)
    for query in TOGETHER.get(endpoint.template, ()):
        walk = endpoint.walks and "page=" not in query
        yield Question(endpoint.template, path, query, walk)


def forgotten(found: Iterable[Endpoint], asked: Iterable[Question]) -> list[str]:
    """Return each path, and each parameter of one, that was in no question that was asked."""
    called: dict[str, set[str]] = {}
    for question in asked:
        names = {part.partition("=")[0] for part in question.query.split("&") if part}
        called.setdefault(question.template, set()).update(names)
    missing = []
    for endpoint in found:
        if endpoint.template not in called:
            missing.append(endpoint.template)
            continue
        missing += [
            f"{endpoint.template}?{name}"
            for name in endpoint.parameters
            if name not in called[endpoint.template]
        ]
    return missing
