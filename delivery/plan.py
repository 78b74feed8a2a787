"""A webhook's definition, read once for many attempts, and the request that one attempt makes.

Made by the worker per task and revision, and by a test of a definition; the same code composes
the request for both. Nothing here sends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from delivery.auth import Auth, read_auth
from delivery.headers import JSON, TEXT, AttemptFacts, build_headers
from delivery.http_messages import Request
from delivery.outcome import Terms, read_terms
from delivery.routes import Route, read_route
from shared.addresses import AllowList, TargetUrl, parse_target_url
from shared.conf import conf
from shared.http_methods import BODILESS
from shared.instants import format_instant
from shared.named_secrets.opened import NO_SECRETS, Secrets
from shared.named_secrets.references import PREFIX, names_in
from shared.templates import render_header, render_json, render_url


# Made for every message: a frozen one takes three times as long.
@dataclass(slots=True)
class Shape:
    """A target without its secret parts, read once for all that share it."""

    #: At least without the secret parts.
    target: Mapping[str, Any] = field(repr=False)
    policy: Mapping[str, Any] = field(repr=False)
    #: Whether the URL holds templates.
    template: bool
    #: Whether the execution carries URL and headers, because the run of a workflow has made them.
    rendered: bool
    raw: bool
    terms: Terms
    allow: AllowList
    #: Whether without a proof one request, whose headers nothing adds to, is the whole call.
    plain: bool
    #: The last plain call, which many may make; ``delivery.plain_request`` keeps it here.
    call: Call | None = None


# Made for every attempt: a frozen one takes three times as long.
@dataclass(slots=True)
class Call:
    """Where plain calls of a shape go, and their first lines."""

    url: TargetUrl
    head: str
    request: Request


# Most serve one attempt, that of a one-time task: a frozen one takes three times as long.
@dataclass(slots=True)
class Plan:
    """Everything of a webhook that no attempt changes."""

    shape: Shape
    #: As the definition has it.
    written_url: str
    #: What is called; None where the URL holds templates, or the execution carries it.
    url: TargetUrl | None
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    #: None where there are templates: then the body is made per attempt.
    body: bytes | None = field(repr=False)
    payload: Any = field(repr=False)
    auth: Auth | None
    route: Route | None
    #: Those that its headers and its authentication name.
    secrets: Secrets = NO_SECRETS
    #: Lower-case names of the headers that hold one.
    private_headers: frozenset[str] = frozenset()

    @property
    def target(self) -> Mapping[str, Any]:
        """The target, at least without its secret parts; it need not have the URL."""
        return self.shape.target

    @property
    def terms(self) -> Terms:
        """How the definition judges answers."""
        return self.shape.terms

    @property
    def is_direct(self) -> bool:
        """Whether one request is the whole call."""
        return self.auth is None and not self.target.get("follow_redirects", False)

    @property
    def is_plain(self) -> bool:
        """Whether one request, whose headers nothing adds to, is the whole call."""
        return self.shape.plain and self.auth is None

    @property
    def content_type(self) -> str:
        """The type of a body whose definition names none."""
        return TEXT if self.shape.raw else JSON

    def body_of(self, payload: Any) -> bytes:
        """Return how a payload is sent; null is no body, and some methods have none."""
        return _body(self.target["method"], payload, raw=self.shape.raw)


def read_shape(target: Mapping[str, Any], policy: Mapping[str, Any], *, allow: AllowList) -> Shape:
    """Return the shape of a target in normal form, without its URL and its secret parts.

    ValueError for what validation would have refused.
    """
    template, rendered = target.get("template", False), target.get("rendered", False)
    terms = read_terms(target, policy)
    return Shape(
        target=target,
        policy=policy,
        template=template,
        rendered=rendered,
        raw=target.get("body_format", "json") == "raw",
        terms=terms,
        allow=allow,
        plain=not (template or rendered or terms.callback or target.get("follow_redirects", False)),
    )


def read_plan(
    target: Mapping[str, Any],
    payload: Any,
    *,
    policy: Mapping[str, Any],
    tenant: str,
    allow: AllowList,
    secrets: Secrets = NO_SECRETS,
) -> Plan:
    """Return the plan of a whole target in normal form; raise as :func:`plan_of` does."""
    shape = read_shape(target, policy, allow=allow)
    return plan_of(shape, target["url"], target, payload, tenant=tenant, secrets=secrets)


def plan_of(
    shape: Shape,
    url: str,
    secret: Mapping[str, Any],
    payload: Any,
    *,
    tenant: str,
    secrets: Secrets = NO_SECRETS,
) -> Plan:
    """Return the plan of a target with its URL, its secret parts and its named secrets.

    UrlError when the settings of today refuse the URL, SecretUnavailable when a named secret may
    not go there, ValueError for what validation would have refused.
    """
    ports = conf().webhook_allowed_ports
    template = shape.template or shape.rendered
    private = frozenset[str]()
    if secrets:
        secrets.require_target({"kind": "webhook", **secret, "url": url})
        private = secrets.header_names(secret["headers"])
        # The headers of a template are made for each attempt, in one pass with its other names.
        secret = secrets.fill_target(secret, ("auth",) if template else ("auth", "headers"))
    return Plan(
        shape=shape,
        written_url=url,
        url=None if template else parse_target_url(url, shape.allow, ports),
        headers=tuple(secret["headers"].items()),
        body=None if template else _body(shape.target["method"], payload, raw=shape.raw),
        payload=payload if template else None,
        auth=read_auth(secret.get("auth"), shape.allow, ports),
        route=read_route(secret, tenant, shape.allow, ports),
        secrets=secrets,
        private_headers=private,
    )


def _body(method: str, payload: Any, *, raw: bool) -> bytes:
    if payload is None or method in BODILESS:
        return b""
    if raw and isinstance(payload, str):
        return payload.encode()
    # orjson's answer keeps all of the 4 KiB that it was written into, and plans are many.
    return memoryview(orjson.dumps(payload)).tobytes()


# Made for every attempt: a frozen one takes three times as long.
@dataclass(slots=True)
class Moment:
    """The facts that one attempt adds to the plan."""

    #: With the plan's headers, as they are written, and its content type.
    facts: AttemptFacts
    #: Unix seconds of the attempt, by the database's clock.
    timestamp: int
    secrets: Sequence[bytes] = field(repr=False)
    #: What templates may name; empty where there are none.
    values: Mapping[str, str] = field(default_factory=dict)
    #: The execution's own payload, in a list of one; empty where it sends the definition's.
    own_payload: Sequence[Any] = field(default=(), repr=False)


def compose(plan: Plan, moment: Moment) -> Request:
    """Return the request of one attempt, signed over the body as it is sent.

    UrlError or ValueError when what templates made of it cannot be sent.
    """
    if plan.shape.rendered:
        [own] = moment.own_payload
        called = parse_target_url(own["url"], plan.shape.allow, conf().webhook_allowed_ports)
        headers = [(name, _with_secrets(plan, text)) for name, text in own["headers"].items()]
        facts = replace(moment.facts, user_headers=headers)
        _require_destination(plan, own["url"])
        return _request(plan, moment, facts, called, plan.body_of(own["payload"]))
    url, facts = plan.url, moment.facts
    if plan.body is not None and not moment.own_payload:
        body = plan.body
    else:
        payload = moment.own_payload[0] if moment.own_payload else plan.payload
        body = plan.body_of(payload if url is not None else render_json(payload, moment.values))
    if url is None:
        rendered = render_url(plan.written_url, moment.values)
        url = parse_target_url(rendered, plan.shape.allow, conf().webhook_allowed_ports)
        _require_destination(plan, rendered)
        values = {**moment.values, **_named_in(plan, facts.user_headers)}
        headers = [(name, render_header(text, values)) for name, text in facts.user_headers]
        facts = replace(facts, user_headers=headers)
    return _request(plan, moment, facts, url, body)


def _require_destination(plan: Plan, url: str) -> None:
    if plan.secrets:
        plan.secrets.require_url(url)


def _with_secrets(plan: Plan, text: str | Sequence[Any]) -> str:
    """Return a header's value as it is sent, from the text or the parts that a run has made."""
    found = plan.secrets.join(text)
    if not isinstance(text, str):
        plan.secrets.require_fit(text, found)
    return found


def _named_in(plan: Plan, headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the values of the secrets that headers name, by the names of their templates."""
    if not plan.secrets:
        return {}
    named = {name for _, text in headers for name in names_in(text)}
    values = {f"{PREFIX}{name}": plan.secrets.value_of(name) for name in named}
    for value in values.values():
        plan.secrets.require_fit([], value)
    return values


def _request(
    plan: Plan, moment: Moment, facts: AttemptFacts, url: TargetUrl, body: bytes
) -> Request:
    return Request(
        method=plan.target["method"],
        url=url,
        headers=build_headers(facts, secrets=moment.secrets, timestamp=moment.timestamp, body=body),
        body=body,
        connect_timeout=plan.target["connect_timeout_seconds"],
        timeout=plan.target["timeout_seconds"],
        capture_bytes=conf().response_capture_bytes,
        route=plan.route,
    )


def template_values(named: Mapping[str, Any], scheduled_for: str, attempt: int) -> dict[str, str]:
    """Return the value of every name that a template may hold.

    ``named`` has the task's name, labels and last success, an ISO 8601 text with offset or None.
    """
    last = named.get("last_success_at")
    labels = named.get("labels") or {}
    return {
        "scheduled_for": scheduled_for,
        "attempt": str(attempt),
        "task.name": named["name"],
        "last_success_at": format_instant(datetime.fromisoformat(last)) if last else "",
        **{f"labels.{key}": value for key, value in labels.items()},
    }
